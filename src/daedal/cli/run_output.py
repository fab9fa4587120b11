"""What a run's command writes: the result for eyes or as JSON, a file, and the exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from daedal import __version__  # now: a package may be replaced while it runs
from daedal.cli import INFEASIBLE, INTERRUPTED
from daedal.cli.again import write_command
from daedal.cli.output import finite, shown, standard_error
from daedal.cli.result_text import MARGIN, show
from daedal.evaluation.signals import interrupts_held
from daedal.limits import StopReason
from daedal.objectives.spec import spec_parts
from daedal.result import Result
from daedal.result.records import Generation
from daedal.settings.plugins import is_file_spec
from daedal.types import to_text


@dataclass(frozen=True, kw_only=True)
class Output:
    """Where a result goes.

    Attributes
    ----------
    as_json, history
        Whether it is one JSON object on standard output, with a record for each generation.
    file
        The file that records the run, if there is one.
    algorithm
        The text that names the algorithm, if there is one.
    """

    as_json: bool
    history: bool
    file: Path | None
    algorithm: str | None

    def write(self, problem: str, result: Result, *, again: Sequence[str] | None = None) -> None:
        """Write a result, and end with the exit code that goes with it; requests to end wait meanwhile.

        `again` are the words of the command that repeats the run; they are left out if the run can be resumed.
        """
        console = standard_error()
        goes_on = result.stop is StopReason.INTERRUPTED and self.file is not None
        with interrupts_held():
            if self.as_json:
                _print_json(problem, result, history=self.history)
            else:
                show(result, console, again=None if goes_on else again)
        if self.file is not None and not self.as_json:
            write_command(console, f"{'page':<{MARGIN}}", ["report", shown(self.file), "-o", "report.html"])
        if goes_on and self.file is not None:
            words = resume_words(self.file, problem, self.algorithm)
            write_command(console, f"{'next':<{MARGIN}}", words)
        if result.stop is StopReason.INTERRUPTED:
            sys.exit(INTERRUPTED)
        if not result.feasible:
            sys.exit(INFEASIBLE)


def resume_words(file: Path, problem: str, algorithm: str | None) -> list[str]:
    """Return the words that continue a run; what a file does not hold, because it is code, is named again."""
    objective = [] if spec_parts(problem)[0] == "problem" else [problem]
    if algorithm is not None and is_file_spec(algorithm):
        objective += ["--algorithm", algorithm]
    return ["resume", shown(file), *objective]


def _print_json(problem: str, result: Result, *, history: bool) -> None:
    report = _report(problem, result)
    if history:
        report["history"] = [_record(record) for record in result.history]
    print(json.dumps(report, allow_nan=False), flush=True)


def _report(problem: str, result: Result) -> dict[str, object]:
    """Give the fields of the JSON object."""
    return {
        "problem": problem,
        "algorithm": result.algorithm,
        "popsize": result.popsize,
        "seed": result.seed,
        "settings": result.settings,
        "x": to_text(result.x),
        "best": result.best,
        "fitness": finite(result.fitness),
        "standard_error": result.standard_error,
        "measurements": result.measurements,
        "feasible": result.feasible,
        "violation": finite(result.violation),
        "violations": list(result.violations),
        "optimum": result.optimum,
        "success": result.success,
        "stop": result.stop.value,
        "explanation": result.explanation,
        "evaluations": result.evaluations,
        "evaluations_to_best": result.evaluations_to_best,
        "repeated": result.repeated,
        "failed": result.failed,
        "failures": [{"x": failure.x, "error": failure.error} for failure in result.failures],
        "batches": result.batches,
        "generations": result.generations,
        "seconds": result.seconds,
        "cpu_seconds": result.cpu_seconds,
        "version": __version__,
    }


def _record(record: Generation) -> dict[str, object]:
    """Give the fields of one generation: its own, and what the model had to tell."""
    return {
        "generation": record.generation,
        "evaluations": record.evaluations,
        "repeated": record.repeated,
        "best": finite(record.best),
        "mean": finite(record.mean),
        "sd": record.sd,
        "batches": record.batches,
        "cpu_seconds": record.cpu_seconds,
        "seconds": record.seconds,
        "objective_seconds": record.objective_seconds,
        **{name: finite(value) for name, value in record.info.items()},
    }

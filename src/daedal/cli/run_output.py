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
from daedal.result.records import Generation
from daedal.result import Result
from daedal.settings.plugins import is_file_spec
from daedal.types import to_text


@dataclass(frozen=True, kw_only=True)
class Output:
    """Where a result goes.

    Attributes
    ----------
    as_json, history
        Whether it is one JSON object on standard output, with a record for each generation.
    checkpoint
        What the run can go on from.
    algorithm
        The text that names the algorithm, if there is one.
    save
        The file that keeps it.
    """

    as_json: bool
    history: bool
    checkpoint: Path | None
    algorithm: str | None
    save: Path | None

    def write(self, problem: str, result: Result, *, again: Sequence[str] | None = None) -> None:
        """Write a result, save it, and end with the exit code that goes with it; who asks to end meanwhile waits.

        `again` are the words of the command that makes the run again; what can go on is not begun again.
        """
        console = standard_error()
        goes_on = result.stop is StopReason.INTERRUPTED and self.checkpoint is not None
        with interrupts_held():
            if self.as_json:
                _print_json(problem, result, history=self.history)
            else:
                show(result, console, again=None if goes_on else again)
            if self.save is not None:
                result.save(self.save)
        if self.save is not None and not self.as_json:
            write_command(console, f"{'page':<{MARGIN}}", ["report", shown(self.save), "-o", "report.html"])
        if goes_on and self.checkpoint is not None:
            words = resume_words(self.checkpoint, problem, self.algorithm)
            write_command(console, f"{'next':<{MARGIN}}", words)
        if result.stop is StopReason.INTERRUPTED:
            sys.exit(INTERRUPTED)
        if not result.feasible:
            sys.exit(INFEASIBLE)


def resume_words(checkpoint: Path, problem: str, algorithm: str | None) -> list[str]:
    """Give the words that go on with a run; what a checkpoint does not hold, because it is code, is named again."""
    objective = [] if spec_parts(problem)[0] == "problem" else [problem]
    if algorithm is not None and is_file_spec(algorithm):
        objective += ["--algorithm", algorithm]
    return ["resume", shown(checkpoint), *objective]


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
        "carried_out": result.evaluated,
        "cached": result.cached,
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
        "best": finite(record.best),
        "mean": finite(record.mean),
        "sd": record.sd,
        "batches": record.batches,
        "cpu_seconds": record.cpu_seconds,
        "seconds": record.seconds,
        "objective_seconds": record.objective_seconds,
        **{name: finite(value) for name, value in record.info.items()},
    }

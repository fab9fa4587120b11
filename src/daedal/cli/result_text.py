"""A result as commands print it: for people on standard error, as JSON on standard output."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from daedal import __version__  # now, because the package may be replaced while it runs
from daedal.cli import INFEASIBLE, INTERRUPTED
from daedal.cli.output import finite, shown, standard_error, write_line
from daedal.evaluation.signals import interrupts_held
from daedal.limits import StopReason
from daedal.objectives.spec import spec_parts
from daedal.result import Result
from daedal.result.records import Generation
from daedal.result.wording import effort_text, fitness_text, value_text, verdict, violation_text
from daedal.settings.checks import counted, printable, visible
from daedal.settings.plugins import is_file_spec
from daedal.types import to_text

_MARGIN = 10  # columns of labels


@dataclass(frozen=True, kw_only=True)
class Output:
    """How a command writes its result.

    Attributes
    ----------
    as_json, history
        If True, write one JSON object to standard output, with a record of each generation.
    file
        The run file, if there is one.
    algorithm
        The algorithm as the user named it, if at all.
    """

    as_json: bool
    history: bool
    file: Path | None
    algorithm: str | None

    def write(self, problem: str, result: Result, *, repeat: Sequence[str] = ()) -> None:
        """Write a result, and exit if its exit code is not 0; requests to end are held back meanwhile.

        Parameters
        ----------
        problem
            The objective as the user named it.
        result
            The result.
        repeat
            Words of the command that repeats the run. They are left out if the run can be resumed.
        """
        console = standard_error()
        can_resume = result.stop is StopReason.INTERRUPTED and self.file is not None
        with interrupts_held():
            if self.as_json:
                _print_json(problem, result, history=self.history)
            else:
                show(result, console, repeat=() if can_resume else repeat)
        if self.file is not None and not self.as_json:
            _write_command(console, "report", ["report", shown(self.file), "-o", "report.html"])
        if self.file is not None and can_resume:
            _write_command(console, "resume", _resume_words(self.file, problem, self.algorithm))
        if result.stop is StopReason.INTERRUPTED:
            sys.exit(INTERRUPTED)
        if not result.feasible:
            sys.exit(INFEASIBLE)


def show(result: Result, console: Console, *, repeat: Sequence[str] = ()) -> None:
    """Write a result for people, and the command that repeats the run, if there is one."""
    color = {True: "bold green", False: "bold yellow", None: "bold"}[result.success]
    optimum = "" if result.optimum is None else f" of {result.optimum:.10g}"
    measured = "" if result.measurements == 1 else f", mean of {result.measurements:,}"
    console.print()
    headline = (verdict(result), color if result.feasible else "bold yellow")
    write_line(console, Text.assemble(headline, f", fitness {fitness_text(result)}{optimum}{measured}"))
    if result.best is None:
        _write_unbroken(console, "x", to_text(result.x))
    else:
        names = {printable(name): printable(value_text(value)) for name, value in result.best.items()}
        width = max(map(len, names))
        for at, (name, value) in enumerate(names.items()):
            _write_unbroken(console, "" if at else "best", f"{name:<{width}}  {value}")
    lines = {
        "violated": violation_text(result),
        "used": effort_text(result),
        "stop": result.stop.message,
        "search": printable(result.explanation or ""),
    }
    if result.failures:
        first = printable(result.failures[0].error)
        lines["failed"] = f"{counted(result.failed, 'evaluation')}, the first: {first}"
    for name, text in lines.items():
        if text:
            write_line(console, Text(text), margin=f"{name:<{_MARGIN}}")
    if repeat:
        _write_command(console, "repeat", repeat)


def _write_command(console: Console, name: str, words: Sequence[str]) -> None:
    _write_unbroken(console, name, visible(shlex.join(["daedal", *words])))


def _write_unbroken(console: Console, name: str, text: str) -> None:
    """Write a line that the terminal itself breaks if it is too long, so that it can be copied in one piece."""
    console.print(Text(f"{name:<{_MARGIN}}{text}"), soft_wrap=True)


def _resume_words(file: Path, problem: str, algorithm: str | None) -> list[str]:
    """Return the command that continues a run. What a run file does not hold, because it is code, is named again."""
    words = ["resume", shown(file)]
    if spec_parts(problem)[0] != "problem":
        words.append(problem)
    if algorithm is not None and is_file_spec(algorithm):
        words += ["--algorithm", algorithm]
    return words


# ------------------------------------------------------------ JSON


def _print_json(problem: str, result: Result, *, history: bool) -> None:
    report = _report(problem, result)
    if history:
        report["history"] = [_record(record) for record in result.history]
    print(json.dumps(report, allow_nan=False), flush=True)


def _report(problem: str, result: Result) -> dict[str, object]:
    """Return the fields of the JSON object."""
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
    """Return the fields of a generation."""
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

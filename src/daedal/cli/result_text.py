"""A result as commands print it: for people on standard error, as JSON on standard output."""

from __future__ import annotations

import dataclasses
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from daedal import __version__  # now, because the package may be replaced while it runs
from daedal.cli import INFEASIBLE, INTERRUPTED
from daedal.cli.output import finite, shown, standard_error
from daedal.evaluation.signals import interrupts_held
from daedal.limits import StopReason
from daedal.objectives.spec import spec_parts
from daedal.result import Result
from daedal.result.records import Generation
from daedal.result.saved import record_to_json, result_to_json
from daedal.result.wording import effort_text, fitness_text, value_text, verdict, violation_text
from daedal.settings.checks import counted, printable, visible
from daedal.settings.plugins import is_file_spec
from daedal.types import to_text

_MARGIN = 10  # columns of labels


def write_result(
    result: Result,
    problem: str,
    *,
    as_json: bool,
    history: bool,
    file: Path | None,
    algorithm: str | None,
    repeat: Sequence[str] = (),
) -> None:
    """Write a result, and exit if its exit code is not 0; requests to end are held back meanwhile.

    Parameters
    ----------
    result
        The result.
    problem, algorithm
        The objective and the algorithm as the user named them.
    as_json, history
        If True, write one JSON object to standard output, with a record of each generation.
    file
        The run file, if there is one.
    repeat
        Words of the command that repeats the run. They are left out if the run can be resumed.
    """
    console = standard_error()
    can_resume = result.stop is StopReason.INTERRUPTED and file is not None
    with interrupts_held():
        if as_json:
            print(json.dumps(_report(problem, result, history=history), allow_nan=False), flush=True)
        else:
            show(result, console, repeat=() if can_resume else repeat)
    if file is not None and not as_json:
        _write_command(console, "report", ["report", shown(file), "-o", "report.html"])
    if file is not None and can_resume:
        _write_command(console, "resume", _resume_words(file, problem, algorithm))
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
    console.print(Text.assemble(headline, f", fitness {fitness_text(result)}{optimum}{measured}"))
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
            line = Table.grid()
            line.add_column(min_width=_MARGIN)
            line.add_row(name, Text(text))
            console.print(line)
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

_FIELDS = (
    *("algorithm", "popsize", "seed", "settings", "x", "best", "fitness", "standard_error", "measurements"),
    *("feasible", "violation", "violations", "optimum", "success", "stop", "explanation"),
    *("evaluations", "evaluations_to_best", "repeated", "failed", "failures", "batches", "generations"),
    *("seconds", "cpu_seconds"),
)
"""Fields of a result in the JSON object, in their order."""


def _report(problem: str, result: Result, *, history: bool) -> dict[str, object]:
    """Return the fields of the JSON object."""
    fields = result_to_json(result) | {"best": result.best}
    fields["failures"] = [dataclasses.asdict(failure) for failure in result.failures]
    report = {"problem": problem, **{name: _finite(fields[name]) for name in _FIELDS}, "version": __version__}
    if history:
        report["history"] = [_record(record) for record in result.history]
    return report


def _record(record: Generation) -> dict[str, object]:
    """Return the fields of a generation."""
    fields = record_to_json(record)
    return {name: _finite(value) for name, value in {**fields, **record.info}.items() if name != "info"}


def _finite(value: Any) -> Any:
    """Return a value as JSON has it, which has no infinity: null."""
    return finite(value) if isinstance(value, float) else value

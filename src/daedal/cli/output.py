"""What commands print: results, and what objectives print meanwhile."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import math
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout, suppress
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from daedal import __version__  # now, because the package may be replaced while it runs
from daedal.cli import INFEASIBLE, INTERRUPTED
from daedal.evaluation.signals import interrupts_held
from daedal.limits import StopReason
from daedal.objectives.spec import spec_parts
from daedal.result import Result
from daedal.result.records import Generation
from daedal.result.result import record_to_json, result_to_json
from daedal.result.wording import effort_text, fitness_text, value_text, verdict, violation_text
from daedal.settings.checks import counted, printable, visible
from daedal.settings.plugins import is_file_spec
from daedal.storage.files import Kind, check_apart, replace_file
from daedal.types import to_text

_NO_TERMINAL = 100_000  # columns
_END = b"\0end\0\n"
_PIECE = 65536
_LONGEST_LINE = 10_000  # bytes of a captured line before it is shown without its end

# ------------------------------------------------------------ text


def standard_error() -> Console:
    """Return a console on standard error."""
    return _console(sys.stderr, stderr=True)


def standard_output() -> Console:
    """Return a console on standard output."""
    return _console(sys.stdout, stderr=False)


def _console(stream: TextIO | None, *, stderr: bool) -> Console:
    """Only a terminal breaks lines and is interactive: other programs search lines, and logs may have forced colors."""
    if stream is not None and stream.isatty():
        return Console(stderr=stderr, highlight=False)
    return Console(stderr=stderr, highlight=False, width=_NO_TERMINAL, force_interactive=False)


def say(text: str) -> None:
    """Write a line to standard error."""
    standard_error().print(Text(visible(text)))


def clock_time(seconds: float) -> str:
    """Return a time as a clock shows it.

    Examples
    --------
    >>> clock_time(134.4)
    '0:02:14'
    """
    return str(timedelta(seconds=int(seconds)))


def finite(value: float | None) -> float | None:
    """Return a number as JSON has it, which has no infinity: null."""
    return value if value is None or math.isfinite(value) else None


# ------------------------------------------------------------ files


def shown(path: Path) -> str:
    """Return a path, relative to the current folder if it is in there."""
    with suppress(OSError):  # the current folder may have been removed
        if path.is_relative_to(Path.cwd()):
            return str(path.relative_to(Path.cwd()))
    return str(path)


def is_standard(output: Path | None) -> bool:
    """Return True if an output is standard output."""
    return output is None or str(output) in ("-", "/dev/stdout")


def check_output(output: Path | None, store: Path) -> None:
    """Check that an output is neither the store that is read nor one of its companions."""
    if not is_standard(output):
        check_apart({"--store": store, "--output": output})


def write_pieces(pieces: Iterable[bytes], output: Path | None, kind: Kind) -> None:
    """Write bytes to standard output, or to a file that is new or of the same kind."""
    if output is not None and not is_standard(output):
        replace_file(output, lambda file: file.writelines(pieces), kind=kind)
        return
    if sys.stdout is None:
        raise ValueError("standard output is closed; name a file with -o")
    sys.stdout.flush()
    sys.stdout.buffer.writelines(pieces)
    sys.stdout.buffer.flush()


# ------------------------------------------------------------ what others print


@contextmanager
def stdout_kept() -> Iterator[None]:
    """Send to standard error whatever objectives, their children or C code write to standard output.

    This includes text that they buffer, which would otherwise appear at the very end.
    """
    _flush_all()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with _standard_error_stream() as stream, redirect_stdout(stream):
            yield
    finally:
        _flush_all()
        os.dup2(kept, 1)
        os.close(kept)


def _standard_error_stream() -> AbstractContextManager[TextIO | None]:
    """Open another stream on standard error, because an objective may close the one that it prints to."""
    ours = sys.__stderr__
    if ours is None or sys.stderr is not ours:
        return nullcontext(sys.stderr)  # it was replaced
    return open(2, "w", buffering=1, encoding=ours.encoding, errors="backslashreplace", closefd=False)


def _flush_all() -> None:
    for stream in (sys.stdout, sys.__stdout__):
        if stream is not None:
            stream.flush()
    ctypes.CDLL(None).fflush(None)


@contextmanager
def captured_stderr(descriptor: int = 2) -> Iterator[Console]:
    """Yield a console on the terminal that also prints, in whole lines, what others write to standard error.

    So lines that an objective or its children print appear above a live display. Standard output is captured, too, if
    it is the same terminal.
    """
    reader, writer = os.pipe()
    captured = [descriptor, *([1] if os.path.sameopenfile(1, descriptor) else [])]
    with os.fdopen(os.dup(descriptor), "w", encoding="utf-8", errors="backslashreplace") as terminal:
        console = Console(file=terminal, highlight=False)
        for one in captured:
            os.dup2(writer, one)
        thread = Thread(target=_print_lines, args=(reader, console), daemon=True)
        thread.start()
        try:
            yield console
        finally:
            for one in captured:
                os.dup2(terminal.fileno(), one)
            with suppress(BrokenPipeError):
                os.write(writer, _END)  # closing it is not enough, because children may live on and hold it open
            os.close(writer)
            thread.join()


def _print_lines(reader: int, console: Console) -> None:
    """Print what arrives, many lines at a time, because each print draws a live display again."""
    with open(reader, "rb", buffering=0) as source:
        pending, ended = b"", b""
        while not ended and (piece := source.read(_PIECE)):
            pending, ended, _ = (pending + piece).partition(_END)
            lines, newline, rest = pending.rpartition(b"\n")
            if ended:
                lines, newline, rest = pending.removesuffix(b"\n"), pending and b"\n", b""
            elif len(rest) > _LONGEST_LINE:
                lines, newline, rest = pending, b"\n", b""
            if newline:
                with suppress(Exception):  # the terminal may be gone, but those who write must not wait for ever
                    console.print(_readable(lines), soft_wrap=True)
            pending = rest


def _readable(text: bytes) -> Text:
    decoded = text.decode(errors="replace")
    try:
        return Text.from_ansi(decoded)
    except ValueError:  # a color that does not exist
        return Text(decoded.replace("\x1b", "\N{SYMBOL FOR ESCAPE}"))


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

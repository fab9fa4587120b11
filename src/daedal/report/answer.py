"""The first part of a run's page: what was found, and why the run ended; and the last: what was run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from daedal import __version__
from daedal.limits import StopReason
from daedal.report.markup import escaped, folded, named_values, paragraph, table
from daedal.report.page import Part, Section
from daedal.result import Result
from daedal.result.wording import (
    fitness_text,
    free_text,
    problem_text,
    value_text,
    verdict,
    violation_text,
)
from daedal.settings.checks import counted
from daedal.types import to_text

_BITS_SHOWN = 2000  # the others behind a click
_FAILURES_SHOWN = 20
_GROUP = 10
_BROKEN_OFF = {StopReason.INTERRUPTED: "interrupted", StopReason.UNFINISHED: "not finished"}


def head(result: Result) -> str:
    """Give the title of the page, and one line about it."""
    size = "" if result.popsize is None else f", popsize {result.popsize:,}"
    bits = counted(result.n, "bit")
    if result.space is not None:
        bits = f"{counted(len(result.space), 'variable')} in {bits}"
    way = "minimised" if result.minimize else "maximised"
    line = f"{way} by {result.algorithm}{size}, {bits}, seed {result.seed}"
    return f"<h1>{escaped(problem_text(result) or 'A run')}</h1>{paragraph(line)}"


def answer(result: Result) -> Section:
    """Give the answer: the best value, what it took, why the run ended, and the solution."""
    kind = "good" if result.success else "bad" if result.success is False or not result.feasible else ""
    word = verdict(result)
    if result.stop in _BROKEN_OFF and not result.success:
        word, kind = _BROKEN_OFF[result.stop], "bad"
    said = f'<span class="verdict {kind}">{word.capitalize()}.</span>'
    parts: list[Part] = [_facts(result), f"<p>{said}{escaped(result.stop.message)}</p>"]
    if beyond := violation_text(result):
        parts.append(paragraph(f"The best solution is {beyond}."))
    elif count := len(result.violations):
        limits = "the constraint" if count == 1 else f"all {count:,} constraints"
        parts.append(paragraph(f"It meets {limits}, and so do the best solutions below."))
    if result.explanation:
        parts.append(paragraph(result.explanation))
    return Section("answer", "The answer", [*parts, *_solution(result)])


def _facts(result: Result) -> str:
    goal = f"of {result.optimum:.10g}, the optimum" if result.optimum is not None else ""
    if result.limits.target is not None:
        goal = f"{goal}; target {result.limits.target:.10g}".lstrip("; ")
    if result.measurements > 1:
        goal = f"{goal}; mean of {result.measurements:,} measurements".lstrip("; ")
    free = f"; {result.failed:,} failed" if result.failed else ""
    free += f"; {free_text(result)}" if result.repeated else ""
    best_after = f"the best after {result.evaluations_to_best:,}"
    facts = [
        ("best value" if result.feasible else "best value, not feasible", fitness_text(result), goal),
        ("evaluations", f"{result.evaluations:,}", f"{best_after}{free}"),
        ("generations", f"{result.generations:,}", f"{result.batches:,} batches" if result.batches else ""),
        ("time", seconds(result.seconds), f"{seconds(result.cpu_seconds)} of CPU"),
    ]
    return f'<dl class="facts">{"".join(_fact(*fact) for fact in facts)}</dl>'


def _fact(name: str, value: str, more: str) -> str:
    small = f"<small>{escaped(more)}</small>" if more else ""
    return f"<div><dt>{escaped(name)}</dt><dd>{escaped(value)}{small}</dd></div>"


def seconds(value: float) -> str:
    """Write a time for eyes.

    Examples
    --------
    >>> [seconds(value) for value in (0.0000078, 0.012, 0.5, 5.25, 100, 7320)]
    ['7.8 µs', '12 ms', '0.5 s', '5.2 s', '1 min 40 s', '2 h 2 min']
    """
    if value < 0.1:
        return f"{1e3 * value:.2g} ms" if value >= 1e-4 or value == 0 else f"{1e6 * value:.2g} µs"
    if value < 60:
        return f"{value:.1f} s" if value >= 1 else f"{value:.2g} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60:,} h {minutes % 60} min"


def _solution(result: Result) -> Iterator[Part]:
    if (best := result.best) is not None and result.names is None:
        yield named_values((name, value_text(value)) for name, value in best.items())
        return
    if result.names is not None:
        chosen = [name for name, bit in zip(result.names, result.mask.tolist(), strict=True) if bit]
        yield paragraph(f"{len(chosen):,} of {result.n:,} are chosen: {', '.join(chosen) or 'none'}.")
        return
    text = to_text(result.x)
    yield bits(text[:_BITS_SHOWN])
    if len(text) > _BITS_SHOWN:
        yield folded("bits", f"{len(text) - _BITS_SHOWN:,} more bits", bits(text[_BITS_SHOWN:]))


def bits(text: str, changed: frozenset[int] = frozenset()) -> str:
    """Write bits in groups of ten, which wrap between groups; those that are changed stand out."""
    groups = []
    for first in range(0, len(text), _GROUP):
        group = range(first, min(first + _GROUP, len(text)))
        inner = "".join(f"<mark>{text[i]}</mark>" if i in changed else text[i] for i in group)
        groups.append(f"<span>{inner}</span>")
    return f'<div class="bits">{" ".join(groups)}</div>'


def failures(result: Result) -> Section | None:
    """List what failed, if anything did."""
    if not result.failed and not result.failures:
        return None
    shown = result.failures[:_FAILURES_SHOWN]
    rows = [(f"<code>{escaped(_short(one.x))}</code>", escaped(one.error)) for one in shown]
    said = f"{result.failed:,} of {counted(result.evaluations, 'evaluation')} failed."
    if result.failed > len(shown):
        said += " This is the first." if len(shown) == 1 else f" These are the first {len(shown):,}."
    return Section("failures", "What failed", [paragraph(said), table(("row", "error"), rows)])


def _short(row: str) -> str:
    return row if len(row) <= 80 else f"{row[:77]}..."


def settings(result: Result) -> Section:
    """Say what was run, and how to run it again."""
    limits = {one.name: getattr(result.limits, one.name) for one in fields(result.limits)}
    given = [
        ("problem", result.problem),
        ("looked for", "the smallest value" if result.minimize else "the largest value"),
        ("algorithm", result.algorithm),
        ("seed", result.seed),
        *((name, value) for name, value in result.settings.items()),
        *((name, value) for name, value in limits.items() if value is not None),
        ("daedal", __version__),
    ]
    parts: list[Part] = [named_values(given)]
    if result.again:
        parts = [paragraph("One line makes it again:"), f"<pre><code>{escaped(result.again)}</code></pre>", *parts]
    return Section("settings", "What was run", parts)


def top(result: Result, most: int = 10) -> Section | None:
    """Show the best distinct rows that were seen, and where they differ from the best."""
    trace = result.trace
    if trace is None or len(trace.top) < 2:
        return None
    rows, values = trace.top[:most], trace.top_fitness[:most]
    said = paragraph("The best distinct solutions that were evaluated; what differs from the best is marked.")
    if result.space is not None and result.names is None:
        plain = [{name: value_text(value) for name, value in row.items()} for row in result.space.plain(rows)]
        body = [
            [f"{value:.10g}", *(_marked(text, text != plain[0][name]) for name, text in row.items())]
            for value, row in zip(values.tolist(), plain, strict=True)
        ]
        return Section("top", "The best solutions", [said, table(("value", *result.space), body)])
    differ = [frozenset((row != rows[0]).nonzero()[0].tolist()) for row in rows]
    if result.n > 100:
        labels = result.names or [f"x{i}" for i in range(result.n)]
        texts = [", ".join(labels[i] for i in sorted(one)[:12]) + (", ..." if len(one) > 12 else "") for one in differ]
        body = [
            [f"{value:.10g}", f"{len(one):,}", escaped(text)]
            for value, one, text in zip(values.tolist(), differ, texts, strict=True)
        ]
        return Section("top", "The best solutions", [said, table(("value", "differs in", "which are"), body)])
    body = [
        [f"{value:.10g}", f"{len(one):,}", bits(to_text(row), one)]
        for value, one, row in zip(values.tolist(), differ, rows, strict=True)
    ]
    return Section("top", "The best solutions", [said, table(("value", "differs in", "bits"), body)])


def _marked(text: str, changed: bool) -> str:
    return f"<mark>{escaped(text)}</mark>" if changed else escaped(text)

"""Parts of a run's page without figures: the best solutions, failed evaluations, and the run's configuration."""

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

_BITS_SHOWN = 2000  # further ones open after a click
_FAILURES_SHOWN = 20
_GROUP = 10
_UNFINISHED = {StopReason.INTERRUPTED: "interrupted", StopReason.UNFINISHED: "so far"}


def head(result: Result) -> str:
    """Return the title of the page, and a line about the run."""
    size = "" if result.popsize is None else f", popsize {result.popsize:,}"
    bits = counted(result.n, "bit")
    if result.space is not None:
        bits = f"{counted(len(result.space), 'variable')} in {bits}"
    way = "Minimized" if result.minimize else "Maximized"
    line = f"{way} by {result.algorithm}{size}, {bits}, seed {result.seed}"
    return f"<h1>{escaped(problem_text(result) or 'Run')}</h1>{paragraph(line)}"


def best_solution(result: Result) -> Section:
    """Return the best value, its effort, the reason why the run ended, and the solution."""
    kind = "good" if result.success else "bad" if result.success is False or not result.feasible else ""
    word = verdict(result)
    if result.stop in _UNFINISHED and not result.success:
        word, kind = _UNFINISHED[result.stop], "bad"
    said = f'<span class="verdict {kind}">{word.capitalize()}.</span>'
    parts: list[Part] = [_facts(result), f"<p>{said}{escaped(result.stop.message)}</p>"]
    if beyond := violation_text(result):
        parts.append(paragraph(f"The best solution is {beyond}."))
    elif count := len(result.violations):
        limits = "the constraint" if count == 1 else f"all {count:,} constraints"
        parts.append(paragraph(f"The best solution satisfies {limits}."))
    if result.explanation:
        parts.append(paragraph(f"Algorithm: {result.explanation}"))
    return Section("solution", "Best solution", [*parts, *_solution(result)])


def _facts(result: Result) -> str:
    known = {"optimum": result.optimum, "target": result.limits.target}
    goals = [f"{name} {value:.10g}" for name, value in known.items() if value is not None]
    if result.measurements > 1:
        goals.append(f"mean of {result.measurements:,} measurements")
    counts = [f"best found after {result.evaluations_to_best:,}"]
    counts += [f"{result.failed:,} failed"] if result.failed else []
    counts += [free_text(result)] if result.repeated else []
    best = fitness_text(result).replace(" +- ", " ± ")
    facts = [
        ("best value" if result.feasible else "best value, not feasible", best, goals),
        ("evaluations", f"{result.evaluations:,}", counts),
        ("generations", f"{result.generations:,}", [f"{result.batches:,} batches"] if result.batches else []),
        ("time", seconds(result.seconds), [f"{seconds(result.cpu_seconds)} of CPU time"]),
    ]
    shown = ""
    for name, value, more in facts:
        small = "".join(f"<small>{escaped(text)}</small>" for text in more)
        shown += f"<div><dt>{name}</dt><dd>{escaped(value)}{small}</dd></div>"
    return f'<dl class="facts">{shown}</dl>'


def seconds(value: float) -> str:
    """Return a duration with a unit that fits it.

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
    if result.names is not None:
        chosen = [name for name, bit in zip(result.names, result.mask.tolist(), strict=True) if bit]
        yield paragraph(f"{len(chosen):,} of {result.n:,} are selected: {', '.join(chosen) or 'none'}.")
    elif (best := result.best) is not None:
        yield named_values((name, value_text(value)) for name, value in best.items())
    else:
        text = to_text(result.x)
        yield bits(text[:_BITS_SHOWN])
        if len(text) > _BITS_SHOWN:
            yield folded("bits", f"{len(text) - _BITS_SHOWN:,} more bits", bits(text[_BITS_SHOWN:]))


def bits(text: str, changed: frozenset[int] = frozenset()) -> str:
    """Return bits in groups of ten, between which lines can break, with the changed ones marked."""
    groups = []
    for first in range(0, len(text), _GROUP):
        group = range(first, min(first + _GROUP, len(text)))
        inner = "".join(f"<mark>{text[i]}</mark>" if i in changed else text[i] for i in group)
        groups.append(f"<span>{inner}</span>")
    return f'<div class="bits">{" ".join(groups)}</div>'


def best_solutions(result: Result, most: int = 10) -> Section | None:
    """Return the best distinct candidates, with their differences from the best one."""
    trace = result.trace
    if trace is None or len(trace.top) < 2:
        return None
    rows, values = trace.top[:most], [f"{value:.10g}" for value in trace.top_fitness[:most].tolist()]
    said = paragraph("The best distinct solutions. Differences from the first one are marked.")
    if result.space is not None and result.names is None:
        plain = [{name: value_text(value) for name, value in row.items()} for row in result.space.plain(rows)]
        header = ["value", *result.space]
        body = [
            [escaped(text) if text == plain[0][name] else f"<mark>{escaped(text)}</mark>" for name, text in row.items()]
            for row in plain
        ]
    else:
        differ = [frozenset((row != rows[0]).nonzero()[0].tolist()) for row in rows]
        labels = result.names or [f"x{i}" for i in range(result.n)]
        if result.n > 100:
            header = ["value", "differences", "variables"]
            texts = [", ".join([*(labels[i] for i in sorted(one)[:12]), *["..."][: len(one) > 12]]) for one in differ]
            inner = list(map(escaped, texts))
        else:
            header = ["value", "differences", "bits"]
            inner = [bits(to_text(row), one) for one, row in zip(differ, rows, strict=True)]
        body = [[f"{len(one):,}", cell] for one, cell in zip(differ, inner, strict=True)]
    lines = [[value, *cells] for value, cells in zip(values, body, strict=True)]
    return Section("top", "Best solutions", [said, table(header, lines)])


def failures(result: Result) -> Section | None:
    """Return the failed evaluations with their errors, if there are any."""
    if not result.failed and not result.failures:
        return None
    shown = result.failures[:_FAILURES_SHOWN]
    rows = [(f"<code>{escaped(one.x, most=80)}</code>", escaped(one.error)) for one in shown]
    said = f"{result.failed:,} of {counted(result.evaluations, 'evaluation')} failed."
    if result.failed > len(shown):
        said += f" The first {len(shown):,} of them:" if len(shown) > 1 else " The first one:"
    return Section("failures", "Failed evaluations", [paragraph(said), table(("candidate", "error"), rows)])


def configuration(result: Result) -> Section:
    """Return all settings of the run, and the command or call that repeats it."""
    limits = {one.name: getattr(result.limits, one.name) for one in fields(result.limits)}
    given = [
        ("problem", result.problem),
        ("direction", "minimize" if result.minimize else "maximize"),
        ("algorithm", result.algorithm),
        ("seed", result.seed),
        *((name, value) for name, value in result.settings.items()),
        *((name, value) for name, value in limits.items() if value is not None),
        ("daedal", __version__),
    ]
    parts: list[Part] = [named_values(given)]
    if result.again:
        parts = [paragraph("To repeat this run:"), f"<pre><code>{escaped(result.again)}</code></pre>", *parts]
    return Section("configuration", "Run configuration", parts)

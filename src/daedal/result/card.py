"""A result as a small card of HTML, which is how notebooks show it."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING

from daedal.result.wording import effort_text, fitness_text, problem_text, verdict
from daedal.settings.checks import printable

if TYPE_CHECKING:
    from daedal.result.result import Result

_WIDTH, _HEIGHT, _MOST_POINTS = 220, 36, 120
_BOX = (
    "display:inline-block;box-sizing:border-box;max-width:min(44em,100%);overflow-wrap:anywhere;padding:10px 14px;"
    "border:1px solid #8888;border-radius:6px;line-height:1.5"
)
_SOFT = "opacity:.7;font-size:.9em"


def card(result: Result) -> str:
    """Give the card: the best value, the problem, why the run ended, and what it took.

    What hangs together takes seconds to find out, and is on the page: see `Result.report`.
    """
    goal = "" if result.optimum is None else f" of {result.optimum:.10g}"
    name = f" on {problem_text(result)}" if result.problem else ""
    lines = [
        f"<div><b>{_escaped(fitness_text(result) + goal)}</b>, {_escaped(verdict(result))}</div>",
        f'<div style="{_SOFT}">{_escaped(f"{result.algorithm}{name}, seed {result.seed}")}</div>',
        sparkline([record.best for record in result.history]),
        f"<div>{_escaped(result.stop.message)}</div>",
        f'<div style="{_SOFT}">{_escaped(effort_text(result))}</div>',
    ]
    return f'<div style="{_BOX}">{"".join(lines)}</div>'


def sparkline(values: list[float]) -> str:
    """Draw values as a small line; nothing where there are not two that differ."""
    step = max(1, -(-len(values) // _MOST_POINTS))
    finite = [value for value in [*values[:-1:step], *values[-1:]] if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    if not high > low or not math.isfinite(high - low):
        return ""
    points = [
        (2 + (_WIDTH - 4) * place / (len(finite) - 1), 2 + (_HEIGHT - 4) * (1 - (value - low) / (high - low)))
        for place, value in enumerate(finite)
    ]
    drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="best value by generation">'
        f'<polyline points="{drawn}" fill="none" stroke="#3f7fbd" stroke-width="2"/></svg>'
    )


def _escaped(text: str) -> str:
    return html.escape(printable(text))

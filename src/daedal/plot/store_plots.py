"""Pictures of the runs of a study."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from daedal.plot.curve_lines import draw_anytime, draw_runtime
from daedal.plot.style import axes_to_draw_on, draw_axes_legend, plain_text, shortened
from daedal.studies.snapshot import Snapshot, read_store
from daedal.studies.store import Store

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@runtime_checkable
class HasSnapshot(Protocol):
    """What gives a study and its runs of one moment, as the object of `daedal.study` does."""

    def snapshot(self) -> Snapshot:
        """Give them."""


AnyStore: TypeAlias = str | os.PathLike[str] | Store | Snapshot | HasSnapshot
"""The path of a store, a store, or a study of `daedal.study`."""


def runtime(store: AnyStore, *, problem: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the runtime distribution of each algorithm: the share of runs solved against evaluations.

    Each algorithm has the population size that solves 90 % of the runs, or 50 %, or else the most; or the largest
    budget. A line ends with a marker where the longest of its runs ended.

    Parameters
    ----------
    store
        The path of a store, or what `daedal.study` gives.
    problem
        Which of the study's problems; the runs of all of them together where not given.
    ax
        The Axes to draw on; new ones where not given.

    Examples
    --------
    >>> import daedal, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     some = daedal.study(["onemax:n=10"], ["umda"], popsizes=[50], runs=3, store=f"{folder}/results.db")
    ...     axes = daedal.plot.runtime(some.run(workers=1))
    >>> axes.get_ylabel()
    'Share of runs solved'
    """
    snapshot = snapshot_of(store)
    problems = snapshot.study.problems if problem is None else (snapshot.problem(problem),)
    with axes_to_draw_on(ax) as axes:
        lines = draw_runtime(axes, snapshot, problems)
        if not lines:
            raise ValueError(_nothing("runs of problems whose optimum or target is known"))
        title = problems[0].name if len(problems) == 1 else f"{len(problems)} problems"
        axes.set_title(plain_text(shortened(title)), loc="left")
        draw_axes_legend(axes, lines, own=ax is None)
    return axes


def anytime(store: AnyStore, *, problem: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the best value of each algorithm against evaluations: median and quartiles over its runs.

    Parameters
    ----------
    store
        The path of a store, or what `daedal.study` gives.
    problem
        Which of the study's problems; it may be left out where there is one.
    ax
        The Axes to draw on; new ones where not given.

    Examples
    --------
    >>> import daedal, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     some = daedal.study(["onemax:n=10"], ["umda"], popsizes=[50], runs=3, store=f"{folder}/results.db")
    ...     axes = daedal.plot.anytime(some.run(workers=1))
    >>> axes.get_xscale()
    'log'
    """
    snapshot = snapshot_of(store)
    chosen = snapshot.problem(problem)
    with axes_to_draw_on(ax) as axes:
        lines = draw_anytime(axes, snapshot, chosen)
        if not lines:
            raise ValueError(_nothing("runs with a history"))
        axes.set_title(plain_text(shortened(chosen.name)), loc="left")
        draw_axes_legend(axes, lines, own=ax is None)
    return axes


def snapshot_of(store: AnyStore) -> Snapshot:
    """Read what there is to draw."""
    if isinstance(store, Snapshot):
        return store
    if isinstance(store, Store):
        return read_store(store.path)
    if isinstance(store, str | os.PathLike):
        return read_store(store)
    if isinstance(store, HasSnapshot):
        return store.snapshot()
    raise TypeError(f"expected the path of a store, or what daedal.study gives, got {store!r:.80}")


def _nothing(what: str) -> str:
    return f"expected {what}, got none so far; run the study first, or give another problem"

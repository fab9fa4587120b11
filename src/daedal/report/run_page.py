"""The page of a run: the best solution first, then how the run went, then what it learned about the variables."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from daedal.limits import StopReason
from daedal.plot.figure import Figure, bins
from daedal.plot.runs import (
    MOST_BARS,
    bit_order,
    convergence,
    decisions,
    effort,
    importance,
    linkage_panel,
    population,
    training,
)
from daedal.report.answer import best_solution, best_solutions, configuration, failures, head, seconds
from daedal.report.markup import bullets, paragraph
from daedal.report.page import Page, Part, Section
from daedal.result import Result
from daedal.result.variables import Linkage, Variables, believed_linkage, learned_linkage, losses, ranked, variables_of
from daedal.result.wording import problem_text

_OPENED = 0.1  # rise of the mean entropy from one generation to the next that only a new population explains
_SLOW = 10.0  # seconds of the objective from which on more workers are worth their trouble
_DECIDED = 0.05  # entropy below which a variable counts as decided


def run_page(result: Result, *, quick: bool = False) -> Page:
    """Return the page of a run.

    A quick page of an unfinished run shows the interactions that the search believes in, because estimating them from
    the candidates takes seconds.

    Examples
    --------
    >>> import daedal
    >>> page = run_page(daedal.maximize(lambda x: x.sum(axis=1), n=8, algorithm="umda", seed=1))
    >>> [section.name for section in page.sections][:2]
    ['solution', 'progress']
    """
    variables = variables_of(result)
    believed = believed_linkage(result, variables)
    is_hurried = quick and result.stop is StopReason.UNFINISHED
    linkage = believed if is_hurried else learned_linkage(result, variables)
    order = bit_order(linkage, variables)
    sections = [
        best_solution(result),
        _progress(result),
        _time(result),
        _decisions(result, variables, order),
        _population(result, order),
        _training(result),
        _interactions(result, linkage, believed, variables),
        _importance(result, variables),
        best_solutions(result),
        failures(result),
        configuration(result),
    ]
    found = [section for section in sections if section is not None]
    if result.trace is None:
        said = "This run did not record its populations, so the report cannot show what the search learned."
        found.insert(-1, Section("unknown", "Interactions", [paragraph(said, kind="soft")]))
    return Page(title=f"{problem_text(result) or 'Run'}: {result.algorithm}", head=head(result), sections=found)


# ---------------------------------------------------------------- how the run went


def _progress(result: Result) -> Section | None:
    if not result.history:
        return None
    parts: list[Part] = [convergence(result)]
    if not any(math.isfinite(record.best) for record in result.history):
        parts.insert(0, paragraph("No generation found a feasible solution, so there is nothing to draw."))
    return Section("progress", "Best value over time", parts)


def _time(result: Result) -> Section | None:
    figure = effort(result)
    if figure is None:
        return None
    last, parts = result.history[-1], list[Part]([figure])
    if last.seconds > 0:
        share = min(1.0, last.objective_seconds / last.seconds)
        each = seconds(last.objective_seconds / max(1, result.evaluations))
        said = f"The objective took {_percent(share)} of {seconds(last.seconds)}, or {each} per evaluation. "
        said += f"The search took {_percent(1 - share)}."
        width = last.evaluations / max(1, last.batches)
        if share > 0.5 and last.objective_seconds > _SLOW:
            said += (
                " More workers can help, because"
                if width >= 2
                else " More workers or `asynchronous=True` can help, but"
            )
            said += (
                f" a batch has {width:,.0f} evaluations on average." if width >= 2 else " a batch has one evaluation."
            )
        parts.insert(0, paragraph(said))
    return Section("time", "Time", parts)


def _percent(share: float) -> str:
    if 0 < share < 0.01 or 0.99 < share < 1:
        return "less than 1%" if share < 0.5 else "more than 99%"
    return f"{100 * share:.0f}%"


def _training(result: Result) -> Section | None:
    figure = training(result)
    if figure is None:
        return None
    said = "The network is trained in every generation. The figures show its error during training, and its epochs."
    return Section("training", "Training", [paragraph(said), figure])


# ---------------------------------------------------------------- populations


def _decisions(result: Result, variables: Variables, order: NDArray[np.intp]) -> Section | None:
    trace = result.trace
    if trace is None or not len(trace.generations):
        return None
    decided = int((trace.entropy()[-1] < _DECIDED).sum())
    kind = "variables" if result.space is None else "bits"
    said = (
        f"Entropy of the {kind} in the population: 100% is undecided (as many ones as zeros), 0% is decided. "
        f"At the end, {decided:,} of {result.n:,} {kind} are decided."
    )
    if np.diff(trace.entropy().mean(axis=1)).max(initial=0.0) >= _OPENED:
        said += (
            " If variables become undecided again, the search has started a new population. The last population does "
            "not always contain the best solution."
        )
    parts = [paragraph(said), *_binned(result.n), decisions(trace, variables, order)]
    return Section("convergence", "Convergence by variable", parts)


def _binned(n: int) -> list[Part]:
    """Say that several neighbors share a line, if they do."""
    starts = bins(n)
    if len(starts) == n:
        return []
    return [
        paragraph(f"{n:,} variables do not fit, so each line stands for {starts[1]:,} neighbors.", kind="soft small")
    ]


def _population(result: Result, order: NDArray[np.intp]) -> Section | None:
    trace = result.trace
    if trace is None or not len(trace.generations):
        return None
    said = "Each row is a candidate, with the best one on top. Blue is 1."
    if not np.array_equal(order, np.arange(len(order))):
        said += " Columns of interacting variables are neighbors."
    values = trace.population(-1)[1]
    if len(values) and (values.min() > result.fitness if result.minimize else values.max() < result.fitness):
        said += (
            " The last population does not contain the best solution, for example because the search has started a new "
            "population. The mean of a generation is that of its evaluated candidates."
        )
    return Section("population", "Population", [paragraph(said), *_binned(result.n), population(result, order=order)])


# ---------------------------------------------------------------- variables


def _interactions(
    result: Result, linkage: Linkage | None, believed: Linkage | None, variables: Variables
) -> Section | None:
    """Say which variables interact, and show how strongly; next to it, the view of the search itself."""
    if linkage is None:
        said = "The run evaluated too few candidates to tell which variables interact."
        return None if result.trace is None else Section("interactions", "Interactions", [paragraph(said)])
    words = linkage.sentences(variables.labels)
    source = paragraph(f"Estimated from {linkage.source}.", kind="soft small")
    if not linkage.groups:  # the rest is chance, and would look like more on a map
        return Section("interactions", "Interactions", [paragraph(words[0]), source])
    said = "Interacting variables are neighbors, and groups have a frame. 100% is the strongest pair."
    panels = [linkage_panel(linkage, linkage.order, variables)]
    if believed is not None and believed.source != linkage.source and believed.strength.any():
        said += f" The second figure shows what the search learned: {believed.source}."
        panels = [replace(panels[0], title="Estimated from candidates")]
        panels.append(linkage_panel(believed, linkage.order, variables, "Learned by the search"))
    figure = Figure(name="linkage", panels=panels)
    parts: list[Part] = [bullets(words), paragraph(said), source, *_binned(len(linkage.order)), figure]
    return Section("interactions", "Interactions", parts)


def _importance(result: Result, variables: Variables) -> Section | None:
    """Show how much worse the best value gets if a variable changes."""
    found = losses(result, variables)
    if found is None:
        return None
    loss, exact = found
    known, parts = ranked(loss), list[Part]()
    if len(known):
        shown = exact[known[:MOST_BARS]]
        said = "How much worse the best value gets if a variable changes."
        if shown.any():
            said += " A solid bar is exact: only this variable changes."
        if not shown.all():
            said += " A hollow bar is a bound: it shows the best evaluated candidate that differs in this variable."
        if len(known) > len(shown):
            said += f" These are the {len(shown)} most important of {len(known):,} variables."
        parts = [paragraph(said), importance(result)]
    if len(hard := np.flatnonzero(np.isposinf(loss))):
        names = ", ".join(variables.labels[i] for i in hard[:20].tolist()) + (", ..." if len(hard) > 20 else "")
        parts.append(paragraph(f"No feasible candidate had another value of {names}."))
    return Section("importance", "Variable importance", parts) if parts else None

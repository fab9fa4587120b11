"""The page of a run: all its parts in order, and a page that makes sense for every kind of run."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from report_helpers import EVIL, SHOWN_EVIL, PageReader, full_result, made_up_trace, read_html

import daedal
from daedal.limits import Limits, StopReason
from daedal.report.page import render
from daedal.report.run_page import run_page

SECTIONS = ["solution", "progress", "time", "convergence", "population", "training", "interactions", "importance"]
SECTIONS += ["top", "configuration"]
UNDECIDED = "has started a new population"


def page_of(result: daedal.Result) -> PageReader:
    return read_html(render(run_page(result)))


def test_the_best_solution_comes_first_and_all_parts_follow() -> None:
    page = page_of(full_result())
    assert page.sections() == SECTIONS
    panels = {name: len(found) for name, found in page.figures.items()}
    expected = {"progress": 1, "effort": 2, "decisions": 1, "population": 3, "training": 3, "linkage": 1}
    assert panels == {**expected, "importance": 1}
    assert "daedal solve onemax:n=20" in page.text
    assert "x15, x16, x17, x18, x19 interact." in page.text
    assert "The objective took 75% of 2.4 s" in page.text
    assert page.count("mark") == 9  # of ten candidates, the best one has no differences
    assert UNDECIDED not in page.text


def test_a_solved_run_says_so_and_names_optimum_and_target() -> None:
    page = page_of(full_result(success=True, stop=StopReason.TARGET, optimum=20.0, limits=Limits(target=19.5)))
    assert "Solved. The target was reached." in page.text
    assert "optimum 20 target 19.5" in page.text


def test_a_run_that_minimizes_says_so() -> None:
    result = full_result(minimize=True)
    page = page_of(dataclasses.replace(result, trace=made_up_trace(result.x, sign=-1.0)))
    assert "Minimized by umda" in page.text
    assert "value (smaller is better)" in page.text


@pytest.mark.parametrize("minimize", [False, True])
def test_a_last_population_without_the_best_solution_is_explained(minimize: bool) -> None:
    sign, trace = -1.0 if minimize else 1.0, made_up_trace(full_result().x)
    trace = dataclasses.replace(trace, fitness=sign * np.minimum(trace.fitness, 12.0))
    said = "does not contain the best solution"
    assert said in page_of(full_result(trace=trace, minimize=minimize, fitness=sign * 20.0)).text
    assert said not in page_of(full_result(trace=trace, minimize=minimize, fitness=sign * 12.0)).text


def test_undecided_variables_are_explained() -> None:
    trace = made_up_trace(full_result().x)
    ones = np.concatenate([trace.ones[:6], trace.ones[:6]])
    assert UNDECIDED in page_of(full_result(trace=dataclasses.replace(trace, ones=ones))).text


@pytest.mark.parametrize(
    ("seconds", "batches", "advice"),
    [(1000.0, 1, "because a batch has 100"), (1000.0, 100, "asynchronous=True"), (1.0, 1, "")],
)
def test_more_workers_are_advised_if_the_objective_is_slow(seconds: float, batches: int, advice: str) -> None:
    history = full_result().history
    last = dataclasses.replace(
        history[-1], seconds=seconds, objective_seconds=seconds, batches=batches, evaluations=100
    )
    page = page_of(full_result(history=(*history[:-1], last)))
    assert advice in page.text
    assert ("More workers" in page.text) == bool(advice)


def test_a_space_shows_named_values_and_variables() -> None:
    space = daedal.Space(size=daedal.Integer(1, 16), mode=daedal.Choice("fast", EVIL), parts=daedal.Subset(["a", "b"]))
    result = daedal.maximize(lambda v: v["size"] + (v["mode"] == EVIL), space, seed=1, max_evaluations=60)
    n = result.n
    linkage = np.random.default_rng(1).random((n, n)).astype(np.float32) * 0.01
    linkage[0, n - 1] = linkage[n - 1, 0] = 1.0
    top = np.unique(space.encoding.repair(made_up_trace(result.x).rows), axis=0)[:3]
    trace = made_up_trace(result.x, linkage=linkage, top=top, top_fitness=np.arange(3.0))
    page = page_of(dataclasses.replace(result, trace=trace, problem="tune"))
    assert "size 16" in page.text
    assert f"mode {SHOWN_EVIL}" in page.text
    assert "size, parts: b interact." in page.text
    assert set(page.figures["linkage"][0]["x"]) == {"size", "mode", "parts: a", "parts: b"}


@pytest.mark.parametrize(
    "changes",
    [
        {"trace": None},
        {"history": ()},
        {"fitness": -math.inf, "feasible": False, "violation": math.inf, "success": False},
        {"feasible": False, "violation": 3.5, "violations": (3.5, 0.0), "success": False},
        {"stop": StopReason.INTERRUPTED},
        {"standard_error": 0.25, "measurements": 12, "explanation": "the objective is noisy"},
        {"popsize": None, "batches": 0, "again": "", "problem": ""},
        {"names": tuple(f"column {i}" for i in range(20))},
    ],
    ids=lambda changes: ",".join(changes),
)
def test_every_kind_of_run_has_a_page(changes: dict[str, Any]) -> None:
    page = page_of(full_result(**changes))
    assert page.sections()[0] == "solution"
    assert page.sections()[-1] == "configuration"
    assert "nan" not in page.text.split()


def test_one_generation_and_values_that_are_not_finite() -> None:
    result = full_result()
    first = dataclasses.replace(result.history[0], best=-math.inf, mean=math.nan, sd=None)
    curves: dict[str, Any] = {"flips": np.full(20, np.nan), "others": np.full(20, -math.inf), "curves": ()}
    page = page_of(dataclasses.replace(result, history=(first,), trace=made_up_trace(result.x, looks=1, **curves)))
    assert page.figures["progress"][0]["lines"][-1]["y"] == [None]
    assert "No generation found a feasible solution" in page.text
    assert "No feasible candidate had another value of x0, x1" in page.text
    assert "importance" not in page.figures


def test_a_run_in_its_first_generation_has_a_page() -> None:
    trace = made_up_trace(full_result().x)
    none = {name: getattr(trace, name)[:0] for name in ("generations", "ones", "rows", "fitness", "look")}
    page = page_of(full_result(history=(), trace=dataclasses.replace(trace, **none), stop=StopReason.UNFINISHED))
    assert "So far." in page.text
    assert list(page.figures) == ["training", "linkage", "importance"]


def test_failed_evaluations_are_listed() -> None:
    page = page_of(full_result(evaluations=260, failed=3, failures=(daedal.Failure("0101", EVIL),)))
    assert "3 of 260 evaluations failed. The first one:" in page.text
    assert SHOWN_EVIL in page.text


def test_texts_of_users_are_shown_and_never_obeyed() -> None:
    plain = full_result()
    evil = {"problem": EVIL, "algorithm": EVIL, "explanation": EVIL, "again": EVIL, "settings": {EVIL: EVIL}}
    names = tuple(f"{EVIL}{i}" for i in range(20))
    page = page_of(full_result(**evil, names=names, trace=made_up_trace(plain.x, source=EVIL)))
    assert page.count("script") == 1
    assert page.text.count(SHOWN_EVIL) >= 8
    assert not [tag for tag, attributes in page.tags if tag == "meta" and "alert" in str(attributes)]


@pytest.mark.parametrize("n", [2000, 100_000])
def test_many_variables_share_lines_and_the_page_says_so(n: int) -> None:
    x = np.random.default_rng(1).integers(0, 2, n).astype(np.uint8)
    text = render(run_page(full_result(x=x, trace=made_up_trace(x, looks=2) if n <= 2000 else _wide_trace(x))))
    assert len(text) < 3_000_000
    page = read_html(text)
    assert f"{n:,} variables do not fit" in page.text
    assert len(page.figures["decisions"][0]["y"]) == 500
    assert ("linkage" in page.figures) == (n <= 2000)


def _wide_trace(x: Any) -> Any:
    """Make up a trace of candidates that are too long for pairs."""
    small, rows = made_up_trace(x[:20], looks=2), np.repeat(x[None], 4, axis=0)
    return dataclasses.replace(
        small,
        ones=np.repeat(x[None].astype(np.float32), 2, axis=0),
        rows=rows,
        fitness=np.arange(4.0),
        look=np.array([0, 0, 1, 1]),
        linkage=None,
        top=rows[:1],
        top_fitness=np.ones(1),
        flips=np.full(len(x), np.nan),
        others=np.full(len(x), 1.0),
    )


@pytest.mark.parametrize(
    ("problem", "says"), [("trap:k=5,n=25", "x20, x21, x22, x23, x24 interact."), ("onemax:n=25", "No two")]
)
def test_interactions_are_named_or_their_absence(problem: str, says: str) -> None:
    page = page_of(daedal.maximize(problem, seed=4))
    assert says in page.text
    assert ("linkage" in page.figures) == problem.startswith("trap")


def test_satisfied_constraints_are_named() -> None:
    limits = [lambda x: x.sum(axis=1) - 5.0, lambda x: x[:, 0] - 1.0]
    result = daedal.maximize(lambda x: x.sum(axis=1), n=12, constraints=limits, seed=1, max_evaluations=300)
    assert "satisfies all 2 constraints" in run_page(result).body()

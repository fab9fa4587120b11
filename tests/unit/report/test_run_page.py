"""The page of a run: all its parts in order, and a page that makes sense whatever the run was like."""

from __future__ import annotations

import base64
import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from report_helpers import EVIL, SHOWN_EVIL, PageReader, full_result, made_up_trace, read_html

import daedal
from daedal.limits import Limits, StopReason
from daedal.report.learned import population
from daedal.report.page import render
from daedal.report.run_page import run_page
from daedal.result.variables import variables_of

SECTIONS = ["answer", "progress", "effort", "entropy", "population", "training", "linkage", "importance", "top"]


def page_of(result: daedal.Result) -> PageReader:
    return read_html(render(run_page(result)))


def cells(heat_map: dict[str, Any]) -> Any:
    """Read the cells of a heat map as Plotly does."""
    shape = [int(size) for size in heat_map["z"]["shape"].split(",")]
    assert heat_map["z"]["dtype"] == "u1"
    return np.frombuffer(base64.b64decode(heat_map["z"]["bdata"]), np.uint8).reshape(shape)


def test_the_answer_comes_first_and_all_parts_follow() -> None:
    page = page_of(full_result())
    assert page.sections() == [*SECTIONS, "settings"]
    assert {"progress", "batches", "time", "entropy", "curves", "epochs", "linkage", "importance"} <= set(page.figures)
    assert sum(name.startswith("population-") for name in page.figures) == 3
    places = [attributes["data-figure"] for tag, attributes in page.tags if "data-figure" in attributes]
    assert sorted(map(str, places)) == sorted(page.figures)
    assert "daedal solve onemax:n=20" in page.text
    assert "x15, x16, x17, x18, x19 interact." in page.text


def test_a_solved_run_says_so_and_names_its_goal() -> None:
    page = page_of(full_result(success=True, stop=StopReason.TARGET, optimum=20.0, limits=Limits(target=19.5)))
    assert "Solved. The target was reached." in page.text
    assert "of 20, the optimum; target 19.5" in page.text
    notes = [note["text"] for note in page.figures["progress"]["layout"]["annotations"]]
    assert notes == ["target", "optimum"]


def test_values_and_spread_stand_against_evaluations() -> None:
    result = full_result()
    low, high, mean, best, _ = page_of(result).figures["progress"]["data"]
    assert best["x"] == [record.evaluations for record in result.history]
    assert best["y"] == [record.best for record in result.history]
    assert np.allclose(np.array(high["y"]) - np.array(low["y"]), 2.0)
    assert np.allclose(mean["y"], [record.mean for record in result.history])


def test_the_last_step_is_seen_and_the_best_has_a_marker() -> None:
    result = full_result()
    figure = page_of(result).figures["progress"]
    first, last = figure["layout"]["xaxis"]["range"]
    (marker,) = [one for one in figure["data"] if one["mode"] == "markers"]
    assert first == 0
    assert last > result.history[-1].evaluations
    assert marker["y"] == [result.history[-1].best]
    assert marker["x"][0] <= result.history[-1].evaluations


def test_one_generation_is_seen() -> None:
    mean, best = page_of(full_result(history=full_result().history[:1])).figures["progress"]["data"]
    assert "markers" in mean["mode"]
    assert "markers" in best["mode"]
    assert mean["error_y"]["array"] == [1.0]


def test_short_times_are_milliseconds() -> None:
    result = full_result()
    history = tuple(
        dataclasses.replace(one, seconds=one.seconds / 1e3, objective_seconds=one.objective_seconds / 1e3)
        for one in result.history
    )
    shown = page_of(dataclasses.replace(result, history=history)).figures["time"]
    assert np.allclose(shown["data"][0]["y"], 0.15)
    assert shown["layout"]["yaxis"]["title"]["text"].startswith("milliseconds")


def test_page_and_plots_show_the_same_looks() -> None:
    for looks, chosen in ((1, [0]), (2, [0, 1]), (3, [0, 1, 2]), (24, [0, 11, 23])):
        trace = made_up_trace(full_result().x, looks=looks)
        assert trace.shown_looks() == chosen
        figures = page_of(full_result(trace=trace)).figures
        assert [name for name in figures if name.startswith("population-")] == [f"population-{k}" for k in chosen]


def test_a_last_population_without_the_best_is_explained_where_it_is_shown() -> None:
    said, worse = "need not hold the best", made_up_trace(full_result().x)
    for minimize in (False, True):
        sign = -1.0 if minimize else 1.0
        trace = dataclasses.replace(worse, fitness=sign * np.minimum(worse.fitness, 12.0))
        shown = full_result(trace=trace, minimize=minimize, fitness=sign * 20.0)
        assert said in str(population(shown, variables_of(shown), np.arange(20)))
        held = dataclasses.replace(shown, fitness=sign * 12.0)
        assert said not in str(population(held, variables_of(held), np.arange(20)))


def test_colours_of_linkage_begin_with_nothing() -> None:
    even = made_up_trace(full_result().x, linkage=np.full((20, 20), 0.9, np.float32) + np.eye(20, dtype=np.float32))
    for trace in (made_up_trace(full_result().x), even):
        figures = page_of(full_result(trace=trace)).figures
        assert all(figures[name]["data"][0]["zmin"] == 0 for name in ("linkage", "belief") if name in figures)


def test_time_is_that_of_each_generation() -> None:
    objective, search = page_of(full_result()).figures["time"]["data"]
    assert np.allclose(objective["y"], 0.15)
    assert np.allclose(search["y"], 0.05)
    assert "The objective took 75 % of 2.4 s" in page_of(full_result()).text


def test_linkage_stands_in_order_with_groups_outlined() -> None:
    result = full_result()
    figure = page_of(result).figures["linkage"]
    shown = cells(figure["data"][0])
    assert result.trace is not None
    assert result.trace.linkage is not None
    place = {name: k for k, name in enumerate(figure["data"][0]["x"])}
    assert shown[place["x0"], place["x3"]] > 90
    assert shown[place["x0"], place["x7"]] < 10
    assert len(figure["layout"]["shapes"]) == 4
    for shape in figure["layout"]["shapes"]:
        inside = shown[int(shape["x0"] + 0.5) : int(shape["x1"] + 0.5), int(shape["y0"] + 0.5) : int(shape["y1"] + 0.5)]
        assert inside.shape == (5, 5)
        assert inside.min() > 90


def test_where_nothing_hangs_together_the_page_says_so() -> None:
    x = full_result().x
    flat = page_of(full_result(trace=made_up_trace(x, linkage=np.zeros((20, 20), np.float32))))
    assert "No two variables interact" in flat.text
    assert "linkage" not in flat.figures


def test_entropy_and_population_have_the_same_order() -> None:
    result = full_result()
    figures = page_of(result).figures
    entropy = figures["entropy"]["data"][0]
    assert cells(entropy).shape == (20, 12)
    assert cells(entropy)[:, 0].min() == 100
    assert cells(entropy)[:, -1].max() == 0
    assert entropy["y"] == figures["population-0"]["data"][0]["x"]
    assert result.trace is not None
    rows, _ = result.trace.population(0)
    order = [int(name.removeprefix("x")) for name in figures["population-0"]["data"][0]["x"]]
    assert np.array_equal(cells(figures["population-0"]["data"][0]), 100 * rows[:, order])


def test_importance_is_exact_where_a_variable_alone_was_changed() -> None:
    result = full_result()
    assert result.trace is not None
    exact, hollow = page_of(result).figures["importance"]["data"]
    found = dict(zip(exact["x"], exact["y"], strict=True))
    assert found["x1"] == pytest.approx(-result.trace.flips[1], rel=1e-6)
    bounds = dict(zip(hollow["x"], hollow["y"], strict=True))
    assert bounds["x3"] == pytest.approx(result.fitness - result.trace.others[3], rel=1e-6)
    assert set(found) & set(bounds) == set()
    assert len(found) + len(bounds) == 20


def test_bars_with_long_names_lie_and_each_has_its_name() -> None:
    named = full_result(names=tuple(f"a long name, the {i}th" for i in range(20)))
    short, long = (page_of(result).figures["importance"] for result in (full_result(), named))
    assert {one["orientation"] for one in short["data"]} == {"v"}
    assert {one["orientation"] for one in long["data"]} == {"h"}
    shown = [name for one in long["data"] for name in one["y"]]
    assert sorted(shown) == sorted(named.names or ())
    assert long["layout"]["yaxis"]["dtick"] == 1
    assert long["layout"]["height"] > 12 * len(shown)
    values = {name: value for one in long["data"] for name, value in zip(one["y"], one["x"], strict=True)}
    first, *_, last = long["layout"]["yaxis"]["categoryarray"]
    assert values[first] == max(values.values())
    assert values[last] == min(values.values())


def test_names_are_as_long_as_they_are_read() -> None:
    page = page_of(full_result(names=tuple(f"<{i}>" for i in range(20))))
    assert {one["orientation"] for one in page.figures["importance"]["data"]} == {"v"}


def test_the_best_rows_have_their_differences_marked() -> None:
    page = page_of(full_result())
    assert page.count("mark") == 9  # ten rows, the best one of which differs in nothing


def test_a_run_that_minimises_is_told_that_way() -> None:
    result = full_result(minimize=True)
    page = page_of(dataclasses.replace(result, trace=made_up_trace(result.x, sign=-1.0)))
    assert "smaller is better" in page.figures["progress"]["layout"]["yaxis"]["title"]["text"]
    assert "minimised by umda" in page.text
    exact = page.figures["importance"]["data"][0]
    assert min(exact["y"]) > 0  # what is worse is larger


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
    assert set(page.figures["linkage"]["data"][0]["x"]) == {"size", "mode", "parts: a", "parts: b"}


@pytest.mark.parametrize(
    "changes",
    [
        {"trace": None},
        {"history": ()},
        {"fitness": -math.inf, "feasible": False, "violation": math.inf, "success": False},
        {"feasible": False, "violation": 3.5, "violations": (3.5, 0.0), "success": False},
        {"stop": StopReason.INTERRUPTED},
        {"standard_error": 0.25, "measurements": 12, "explanation": "values scatter"},
        {"popsize": None, "batches": 0, "again": "", "problem": ""},
        {"names": tuple(f"column {i}" for i in range(20))},
    ],
    ids=lambda changes: ",".join(changes),
)
def test_every_kind_of_run_has_a_page(changes: dict[str, Any]) -> None:
    page = page_of(full_result(**changes))
    assert page.sections()[0] == "answer"
    assert page.sections()[-1] == "settings"
    assert "nan" not in page.text.split()


def test_one_generation_and_values_that_are_not_finite() -> None:
    result = full_result()
    first = dataclasses.replace(result.history[0], best=-math.inf, mean=math.nan, sd=None)
    x = result.x
    trace = made_up_trace(x, looks=1, flips=np.full(20, np.nan), others=np.full(20, -math.inf), curves=())
    page = page_of(dataclasses.replace(result, history=(first,), trace=trace))
    assert page.figures["progress"]["data"][-1]["y"] == [None]
    assert "Nothing feasible was seen with another value of x0, x1" in page.text
    assert "importance" not in page.figures


def test_what_failed_is_listed() -> None:
    failures = (daedal.Failure("0101", EVIL),)
    page = page_of(full_result(evaluations=260, failed=3, failures=failures))
    assert "; 3 failed" in page.text  # in the answer, too
    assert "3 of 260 evaluations failed. This is the first." in page.text
    assert SHOWN_EVIL in page.text


def test_texts_of_users_are_shown_and_never_obeyed() -> None:
    plain = full_result()
    evil = full_result(
        problem=EVIL,
        algorithm=EVIL,
        explanation=EVIL,
        again=EVIL,
        settings={EVIL: EVIL},
        names=tuple(f"{EVIL}{i}" for i in range(20)),
        trace=made_up_trace(plain.x, source=EVIL),
    )
    page = page_of(evil)
    assert page.count("script") == page_of(plain).count("script") == 3
    assert page.text.count(SHOWN_EVIL) >= 8
    labels = page.figures["linkage"]["data"][0]["x"]
    assert all(label.startswith("&lt;script&gt;") for label in labels)  # figures read markup, too
    assert not [tag for tag, attributes in page.tags if tag == "meta" and "alert" in str(attributes)]


@pytest.mark.parametrize("n", [2000, 100_000])
def test_long_rows_share_lines_and_the_page_says_so(n: int) -> None:
    result = full_result()
    x = np.random.default_rng(1).integers(0, 2, n).astype(np.uint8)
    trace = made_up_trace(x, looks=2) if n <= 2000 else _wide_trace(x)
    text = render(run_page(dataclasses.replace(result, x=x, trace=trace)))
    assert len(text) < 6_000_000
    page = read_html(text)
    assert f"{n:,} are too many to be drawn" in page.text
    assert cells(page.figures["entropy"]["data"][0]).shape == (500, 2)
    assert ("linkage" in page.figures) == (n <= 2000)


def _wide_trace(x: Any) -> Any:
    """Make up a trace of rows that are too long for pairs."""
    small = made_up_trace(x[:20], looks=2)
    rows = np.repeat(x[None], 4, axis=0)
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


def test_the_blocks_of_a_trap_are_named_and_shown() -> None:
    page = page_of(daedal.maximize("trap:k=5,n=50", seed=4))
    for first in range(0, 50, 5):
        assert ", ".join(f"x{i}" for i in range(first, first + 5)) + " interact." in page.text
    assert len(page.figures["linkage"]["layout"]["shapes"]) == 10


def test_a_sum_says_that_nothing_hangs_together() -> None:
    page = page_of(daedal.maximize("onemax:n=50", seed=1))
    assert "No two variables interact" in page.text
    assert "linkage" not in page.figures


def test_the_answer_says_that_constraints_are_met() -> None:
    limits = [lambda x: x.sum(axis=1) - 5.0, lambda x: x[:, 0] - 1.0]
    result = daedal.maximize(lambda x: x.sum(axis=1), n=12, constraints=limits, seed=1, max_evaluations=300)
    assert "meets all 2 constraints" in run_page(result).body()
    assert "constraint" not in run_page(daedal.maximize("onemax:n=12", seed=1)).body()


def test_variables_that_are_open_again_are_explained() -> None:
    x = full_result().x
    anew = made_up_trace(x)
    ones = np.concatenate([anew.ones[:6], anew.ones[:6]])
    said = "begun a new population"
    assert said in page_of(full_result(trace=dataclasses.replace(anew, ones=ones))).text
    assert said not in page_of(full_result(trace=anew)).text

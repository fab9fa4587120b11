"""The one place where objectives are called: what is counted, known, tried again, given up, and kept."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluation_helpers import every, found, rows_of
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.evaluation.caller import Caller, ObjectiveError, ObjectiveMisuse
from daedal.evaluation.evaluator import FAILURES_KEPT, Evaluator, OutOfTime
from daedal.evaluation.memory_cache import MemoryCache
from daedal.evaluation.options import EvaluationOptions
from daedal.evaluation.sqlite_cache import SQLiteCache
from daedal.types import State, StateError, to_text


class Scores:
    """A function of one row, its number, that fails for some of them, and knows how often it was asked for each."""

    def __init__(self, *, fails: Callable[[str], bool] = lambda row: False, times: int = 10**9) -> None:
        self.fails = fails
        self.times = times
        self.calls: list[str] = []

    def __call__(self, row: np.ndarray) -> float:
        text = to_text(row)
        self.calls.append(text)
        if self.fails(text) and self.calls.count(text) <= self.times:
            raise RuntimeError(f"cannot do {text}")
        return float(int(text, 2))


def evaluator(
    objective: Callable[[Any], Any],
    *,
    n: int = 2,
    vectorized: bool = False,
    sign: int = 1,
    order: Any = None,
    cache: Any = None,
    **options: Any,
) -> Evaluator:
    """Make one that notes each row as it comes."""
    caller, how = Caller(objective, vectorized=vectorized, sign=sign), EvaluationOptions(**options)
    return Evaluator(caller, n=n, order=order, options=how, cache=cache, seconds_between_notes=-1.0)


def counts(evaluate: Evaluator) -> tuple[int, int, int]:
    assert evaluate.evaluations == evaluate.evaluated + evaluate.cached + evaluate.failed
    return evaluate.evaluated, evaluate.cached, evaluate.failed


def best(evaluate: Evaluator) -> tuple[str, float] | None:
    pending = evaluate.pending_best()
    return None if pending is None else (to_text(pending[0]), pending[1])


# What is known, and what is asked


def test_a_batch_holds_each_row_once_and_is_never_empty() -> None:
    batches: list[list[str]] = []
    evaluate = evaluator(lambda x: batches.append([to_text(row) for row in x]) or x.sum(axis=1), vectorized=True)
    for rows in (("01", "11", "01"), ("00", "11", "10", "00"), ("00", "11")):
        evaluate(rows_of(*rows))
    assert evaluate(np.empty((0, 2), dtype=np.uint8)).tolist() == []
    assert batches == [["01", "11"], ["00", "10"]]


@pytest.mark.parametrize("deduplicate", [True, False])
def test_values_that_are_known_are_not_asked_for(deduplicate: bool) -> None:
    scores = Scores()
    evaluate = evaluator(scores, sign=-1, deduplicate=deduplicate)
    evaluate.preload(rows_of("01", "10"), np.array([5.0, 7.0]))
    assert evaluate(rows_of("01", "11", "10", "11")).tolist() == [-5.0, -3.0, -7.0, -3.0]
    assert counts(evaluate) == ((1, 3, 0) if deduplicate else (2, 2, 0))
    assert scores.calls == ["11"] * (1 if deduplicate else 2)
    with pytest.raises(ValueError, match=r"shape \(rows, 2\)"):
        evaluate(rows_of("011"))


@settings(max_examples=60, deadline=None)
@given(
    batches=st.lists(st.lists(st.integers(0, 15), max_size=12), max_size=6),
    bad=st.sets(st.integers(0, 15), max_size=6),
    deduplicate=st.booleans(),
    vectorized=st.booleans(),
    sign=st.sampled_from([1, -1]),
    order=st.permutations(range(4)),
)
def test_every_row_is_evaluated_known_or_failed(
    batches: list[list[int]], bad: set[int], deduplicate: bool, vectorized: bool, sign: int, order: list[int]
) -> None:
    """Against a reference in plain Python: a dict, and three numbers."""
    scores = Scores(fails=lambda row: int(row, 2) in bad)
    evaluate = evaluator(
        (lambda x: [scores(row) for row in x]) if vectorized else scores,
        n=4,
        vectorized=vectorized,
        sign=sign,
        order=np.array(order),
        deduplicate=deduplicate,
        on_error="worst",
    )
    known: dict[str, float] = {}
    asked: list[str] = []
    failures: list[str] = []
    cached = 0
    for batch in batches:
        rows = [f"{number:04b}" for number in batch]
        own = ["".join(row[place] for place in order) for row in rows]
        new = [row for row in dict.fromkeys(own) if row not in known] if deduplicate else own
        x = rows_of(*rows) if rows else np.empty((0, 4), dtype=np.uint8)
        if new and all(int(row, 2) in bad for row in new) and not known:
            with pytest.raises(ObjectiveError, match="first row" if len(new) == 1 else f"first {len(new)} rows"):
                evaluate(x)
            return
        expected, pending = [], []
        for row in own:
            if deduplicate and row in known:
                cached += 1
            elif int(row, 2) in bad:
                failures.append(row)
                known[row] = -math.inf
            else:
                asked.append(row)
                known[row] = sign * float(int(row, 2))
            expected.append(known[row])
            pending += [known[row]] if row not in failures or row not in new else []
        assert evaluate.evaluate(x).tolist() == expected
        came = evaluate.pending_best()
        assert (None if came is None else came[1]) == max(pending, default=None)
        evaluate.commit()
        assert evaluate.pending_best() is None
        assert counts(evaluate) == (len(asked), cached, len(failures))
    assert [failure.x for failure in evaluate.failures] == failures
    assert evaluate.batches == len(batches)
    if not vectorized:  # where a batch fails, its rows are tried one by one
        assert [row for row in scores.calls if int(row, 2) not in bad] == asked
        assert len(scores.calls) == len(asked) + len(failures)


# Failures


def test_failures_are_counted_all_and_kept_some() -> None:
    evaluate = evaluator(Scores(fails=lambda row: row.startswith("1")), n=8, on_error="worst")
    rows = [f"{number:08b}" for number in range(256)]
    evaluate(rows_of(*rows))
    assert counts(evaluate) == (128, 0, 128)
    assert [failure.x for failure in evaluate.failures] == rows[128 : 128 + FAILURES_KEPT]
    assert all(f"cannot do {failure.x} for the row {failure.x}" in failure.error for failure in evaluate.failures)


@pytest.mark.parametrize(
    ("policy", "times", "tries", "value"),
    [
        ("retry:2", 0, 1, 3.0),
        ("retry:2", 1, 2, 3.0),
        ("retry:2", 2, 3, 3.0),
        ("retry:2,worst", 2, 3, 3.0),
        ("retry:2,worst", 3, 3, -math.inf),
        ("worst", 1, 1, -math.inf),
        ("raise", 1, 1, None),
        ("retry:1", 2, 2, None),
        ("retry:2", 3, 3, None),
    ],
)
def test_a_row_is_tried_as_often_as_the_policy_says(policy: str, times: int, tries: int, value: float | None) -> None:
    scores = Scores(fails=lambda row: row == "11", times=times)
    evaluate, rows = evaluator(scores, on_error=policy), rows_of("01", "11", "10")
    if value is None:
        with pytest.raises(ObjectiveError, match=r"cannot do 11 for the row 11$") as caught:
            evaluate(rows)
        assert isinstance(caught.value.__cause__, RuntimeError)
    else:
        assert evaluate(rows).tolist() == [1.0, value, 2.0]
        assert counts(evaluate) == ((3, 0, 0) if value > 0 else (2, 0, 1))
        assert scores.calls.count("10") == 1
    assert scores.calls.count("01") == 1
    assert scores.calls.count("11") == tries


@pytest.mark.parametrize("policy", ["worst", "retry:1,worst"])
def test_nothing_but_failures_is_an_error_at_the_very_beginning_alone(policy: str) -> None:
    """Not later, nor beside what is known: in a second run with the cache of the first, all that is left may fail."""

    def fresh() -> Evaluator:
        return evaluator(Scores(fails=lambda row: row.startswith("1")), on_error=policy)

    with pytest.raises(ObjectiveError, match=r"first 2 rows failed.* cannot do 11"):
        fresh()(rows_of("11", "10"))
    with pytest.raises(ObjectiveMisuse):  # which no policy helps with
        evaluator(lambda row: None, on_error=policy)(rows_of("01"))
    later, beside = fresh(), fresh()
    later(rows_of("01", "00"))
    assert later(rows_of("11", "10")).tolist() == [-math.inf, -math.inf]
    assert counts(later) == (2, 0, 2)
    beside.preload(rows_of("01"), np.array([1.0]))
    assert beside(rows_of("11", "01", "10")).tolist() == [-math.inf, 1.0, -math.inf]
    assert counts(beside) == (0, 1, 2)


@pytest.mark.parametrize("vectorized", [True, False])
def test_an_error_says_how_many_failed_and_what_came_before_it_is_kept(vectorized: bool) -> None:
    cache = MemoryCache(2)

    def f(x: np.ndarray) -> Any:
        ones = np.asarray(x.sum(axis=-1), dtype=float)
        return np.where(ones == 1, np.nan, ones)

    evaluate = evaluator(f, vectorized=vectorized, cache=cache)
    with pytest.raises(ObjectiveError, match="nan for the row 10") as caught:
        evaluate(rows_of("11", "10", "01", "00"))
    assert ("2 of 4" in str(caught.value)) == vectorized  # one by one, the first is the last
    assert found(cache, rows_of("11", "10", "01", "00")) == [2.0, None, None, 0.0 if vectorized else None]
    assert counts(evaluate) == (2 if vectorized else 1, 0, 0)


# A cache that others share


def test_the_cache_is_asked_in_the_objectives_own_order_and_sign() -> None:
    order = np.array([2, 0, 1])
    cache = MemoryCache(3)
    first, second = Scores(), Scores()
    values = evaluator(first, n=3, order=order, cache=cache)(rows_of("011", "100", "010"))
    assert first.calls == ["101", "010", "001"]
    assert found(cache, rows_of(*first.calls)) == values.tolist()
    evaluate = evaluator(second, n=3, sign=-1, cache=cache)  # in its own order, and the other way up
    rows = rows_of("101", "111", "010", "101", "001", "111")
    assert evaluate(rows).tolist() == [-5.0, -7.0, -2.0, -5.0, -1.0, -7.0]
    assert second.calls == ["111"]
    assert counts(evaluate) == (1, 5, 0)


def test_what_failed_and_what_is_infeasible_is_evaluated_again_by_others() -> None:
    """inf of a minimisation is infeasible; taken from a cache, a maximisation could never get beyond it."""
    cache = MemoryCache(2)

    def f(row: np.ndarray) -> float:
        if row.all():
            raise RuntimeError("both")
        return math.inf if row[0] else float(row[1])

    down = evaluator(f, sign=-1, cache=cache, on_error="worst")
    assert down(rows_of("01", "10", "11")).tolist() == [-1.0, -math.inf, -math.inf]
    assert found(cache, rows_of("01", "10", "11")) == [1.0, math.inf, None]
    up = evaluator(f, cache=cache, on_error="worst")
    assert up(rows_of("01", "10", "11")).tolist() == [1.0, -math.inf, -math.inf]
    assert (counts(down), counts(up)) == ((2, 0, 1), (0, 1, 2))


# Time


def test_a_deadline_breaks_off_a_batch_once_there_is_something_to_show() -> None:
    evaluate = evaluator(Scores())
    evaluate.deadline = time.monotonic() - 1.0
    with pytest.raises(OutOfTime):
        evaluate(rows_of("01", "11", "10", "00"))
    assert counts(evaluate) == (1, 0, 0)
    assert best(evaluate) == ("01", 1.0)
    hopeless = evaluator(Scores(fails=lambda row: True), on_error="worst")
    hopeless.deadline = time.monotonic() - 1.0
    with pytest.raises(ObjectiveError, match=r"time .* cannot do 01"):
        hopeless(rows_of("01", "11", "10"))
    assert counts(hopeless) == (0, 0, 0)
    later = evaluator(Scores(fails=lambda row: row == "11"), on_error="worst")
    later(rows_of("01"))
    later.deadline = time.monotonic() - 1.0
    with pytest.raises(OutOfTime):
        later(rows_of("11", "10"))


def test_the_best_so_far_is_that_of_known_and_answered_rows_and_the_first_among_equals() -> None:
    evaluate = evaluator(lambda row: float(row.sum()), n=3, sign=-1)
    evaluate.preload(rows_of("111"), np.array([3.0]))
    bests: list[tuple[str, float] | None] = []
    evaluate.listener = lambda: bests.append(best(evaluate))
    evaluate(rows_of("110", "111", "011", "001", "010", "000"))
    assert bests == [("110", -2.0), ("110", -2.0), ("001", -1.0), ("001", -1.0), ("000", 0.0)]
    evaluate.evaluate(rows_of("111"))
    assert best(evaluate) == ("111", -3.0)
    evaluate.close()
    assert evaluate.listener is None


# Broken off, and taken up again


def test_what_came_back_before_the_end_is_not_evaluated_again() -> None:
    """Neither by the same evaluator nor by another, which goes on from the state of the first."""
    rows = rows_of("01", "11", "10", "00", "11")
    first = evaluator(Scores(fails=lambda row: row == "10", times=1), on_error="raise")
    first(rows_of("00"))
    with pytest.raises(ObjectiveError):
        first(rows)
    scores = Scores()
    second = evaluator(scores)
    second.restore(first.state())
    assert best(second) == best(first) == ("11", 3.0)
    assert counts(second) == counts(first) == (3, 0, 0)
    for again in (first, second):
        assert again(rows).tolist() == [1.0, 3.0, 2.0, 0.0, 3.0]
        assert counts(again) == (4, 2, 0)
        assert again.batches == 2
        assert first.state().fields == again.state().fields
    assert scores.calls == ["10"]


def test_without_deduplication_each_answer_is_used_once() -> None:
    values = iter(range(100))
    first = evaluator(lambda row: float(next(values)) if row.any() else math.nan, deduplicate=False)
    with pytest.raises(ObjectiveError):
        first(rows_of("01", "11", "01", "00"))
    second = evaluator(lambda row: 50.0, deduplicate=False)
    second.restore(first.state())
    assert second(rows_of("01", "11", "01", "00", "01")).tolist() == [0.0, 1.0, 2.0, 50.0, 50.0]
    assert counts(second) == (5, 0, 0)


def test_what_a_run_has_put_into_a_shared_cache_itself_was_not_known_before() -> None:
    cache = MemoryCache(2)
    first = evaluator(Scores(fails=lambda row: row == "10"), cache=cache)
    with pytest.raises(ObjectiveError):
        first(rows_of("01", "11", "10"))
    second = evaluator(Scores(), cache=cache)
    second.restore(first.state())
    assert second(rows_of("01", "11", "10")).tolist() == [1.0, 3.0, 2.0]
    assert counts(second) == (3, 0, 0)


def test_what_came_in_parts_is_kept_part_by_part() -> None:
    """So that neither an error in the last one nor the end of the time loses the others."""
    cache = MemoryCache(2)

    def f(x: np.ndarray) -> Any:
        if x[0].all():
            raise KeyError("down")
        return x.sum(axis=1)

    caller = Caller(f, most_bytes=16)
    evaluate = Evaluator(caller, n=2, cache=cache)
    with pytest.raises(ObjectiveError, match="the row 11"):
        evaluate(rows_of("01", "10", "11"))
    assert found(cache, rows_of("01", "10", "11")) == [1.0, 1.0, None]


BATCHES = [
    rows_of("0001", "0010", "0001"),
    rows_of("0100", "0010", "0101", "0110"),
    rows_of("0111", "0100", "1000", "1001"),
    rows_of("0001", "1111", "1000", "1010"),
]


def cached(path: Path, scores: Any, **how: Any) -> Evaluator:
    return evaluator(scores, n=4, cache=SQLiteCache(path, n=4, objective="scores"), **how)


@pytest.mark.parametrize("kept", range(4))
@pytest.mark.parametrize("done", range(5))
@pytest.mark.parametrize("most", [None, 7])
def test_a_run_that_was_killed_counts_what_it_finds_of_its_own_as_if_it_was_evaluated_now(
    kept: int, done: int, most: int | None, tmp_path: Path
) -> None:
    """With calls that are limited, too; what others have put there is known, as it was, and nothing is called twice."""

    def go(evaluate: Evaluator, batches: list[Any]) -> list[list[float]]:
        told = []
        for rows in batches:
            told.append(evaluate.evaluate(rows, most=None if most is None else most - evaluate.calls).tolist())
            evaluate.commit()
            if most is not None and evaluate.calls == most:
                break
        return told

    if kept > done:
        kept, done = done, kept  # the checkpoint is never ahead of the run
    others, path = Scores(), tmp_path / "known.db"
    for name in ("whole.db", path.name):
        with SQLiteCache(tmp_path / name, n=4, objective="scores") as cache:
            cache.add(rows_of("0010", "1001"), np.array([2.0, 9.0]))
    whole = cached(tmp_path / "whole.db", others)
    expected = go(whole, BATCHES)

    first, second = Scores(), Scores()
    killed = cached(path, first)
    before = go(killed, BATCHES[:kept])
    state = killed.state()
    go(killed, BATCHES[kept:done])
    resumed = cached(path, second)
    resumed.restore(state)
    rest = go(resumed, BATCHES[kept:]) if most is None or resumed.calls < most else []
    assert before + rest == expected
    assert counts(resumed) == counts(whole)
    assert len(first.calls + second.calls) == len(set(first.calls + second.calls)) == whole.calls


def test_what_came_in_the_middle_of_a_batch_after_the_checkpoint_is_found_as_well(tmp_path: Path) -> None:
    """Rows that the checkpoint has, rows that only the cache has, and rows that nobody has."""
    rows, path = rows_of("0001", "0010", "0011", "0100"), tmp_path / "known.db"
    first = cached(path, Scores(fails=lambda row: row == "0100"))
    states = []
    first.listener = lambda: states.append(first.state())
    with pytest.raises(ObjectiveError):
        first(rows)
    scores = Scores()
    second = cached(path, scores)
    second.restore(states[0])  # after the first row
    assert len(states[0].arrays["partial"]) == 1
    assert second(rows).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert counts(second) == (4, 0, 0)
    assert scores.calls == ["0100"]


def test_a_run_that_begins_anew_knows_what_another_one_has_evaluated(tmp_path: Path) -> None:
    cached(tmp_path / "known.db", Scores())(BATCHES[0])
    second = cached(tmp_path / "known.db", Scores())
    second(BATCHES[0])
    assert counts(second) == (0, 3, 0)


def test_the_number_of_a_run_is_checked_before_it_is_believed(tmp_path: Path) -> None:
    first = cached(tmp_path / "known.db", Scores())
    for number in (-1, 2**63, "1", 1.5):
        with pytest.raises(StateError):
            first.restore(first.state().extend(arrays={}, fields={"cache_run": number}))
    fields = {name: value for name, value in first.state().fields.items() if name != "cache_run"}
    first.restore(State(arrays={}, fields=fields))  # as an earlier version wrote it


def test_a_batch_of_which_all_has_come_is_not_asked_for_at_all() -> None:
    """A checkpoint may be written when all rows of a batch are back, and before they are counted."""
    rows = rows_of("01", "11", "10")
    first = evaluator(lambda x: x.sum(axis=1), vectorized=True)
    first.evaluate(rows)
    second = evaluator(lambda x: pytest.fail("asked about nothing"), vectorized=True)
    second.restore(first.state())
    assert second(rows).tolist() == [1.0, 2.0, 1.0]
    assert counts(second) == (3, 0, 0)


def test_what_was_known_goes_on_being_known() -> None:
    first = evaluator(Scores(fails=lambda row: row == "11"), on_error="worst")
    first.preload(rows_of("00"), np.array([9.0]))
    first(every(2))
    second = evaluator(lambda row: pytest.fail("all is known"), on_error="worst")
    second.restore(first.state())
    assert second(every(2)).tolist() == [9.0, 2.0, 1.0, -math.inf]
    assert second.failures == first.failures
    assert counts(second) == (2, 5, 1)
    for odd in (None, "a", [["00"]], [["00", 1]], ["00"]):
        with pytest.raises(StateError):
            second.restore(State(arrays={}, fields={**first.state().fields, "failures": odd}))


# A part of a batch


@settings(max_examples=60, deadline=None)
@given(
    batches=st.lists(st.lists(st.integers(0, 7), min_size=1, max_size=9), min_size=1, max_size=4),
    most=st.integers(1, 6),
    deduplicate=st.booleans(),
    shared=st.booleans(),
    breaks=st.booleans(),
)
def test_a_batch_is_cut_to_so_many_calls(
    batches: list[list[int]], most: int, deduplicate: bool, shared: bool, breaks: bool
) -> None:
    """Beside a set of what is known: the longest beginning with so many new rows, also where a batch was broken off."""
    scores, cache = Scores(), MemoryCache(3)
    known = {"111", "000"} if deduplicate and shared else set()
    cache.add(rows_of("111", "000"), np.array([7.0, 0.0]))
    options: dict[str, Any] = {"cache": cache if known else None, "deduplicate": deduplicate}
    evaluate = evaluator(scores, n=3, **options)
    expected_calls: list[str] = []
    for numbers in batches:
        texts, new, calls = [f"{number:03b}" for number in numbers], set(known), list[str]()
        part = 0
        for text in texts:
            if text not in new:
                if len(calls) == most:
                    break
                calls.append(text)
                new |= {text} if deduplicate else set()
            part += 1
        if breaks:  # it was answered, and not committed: the next process begins the batch anew
            evaluate.evaluate(rows_of(*texts), most=most)
            state = evaluate.state()
            evaluate = evaluator(scores, n=3, **options)
            evaluate.restore(state)
        before = evaluate.calls
        assert evaluate.evaluate(rows_of(*texts), most=most).tolist() == numbers[:part]
        evaluate.commit()
        assert evaluate.calls - before == len(calls)
        known, expected_calls = new, expected_calls + calls
    assert scores.calls == expected_calls

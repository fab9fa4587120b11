"""The one place where objectives are called."""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.evaluation.caller import ObjectiveError
from daedal.evaluation.evaluator import FAILURES_KEPT, Evaluator, OutOfTime
from daedal.evaluation.failures import Failure, OnError
from daedal.evaluation.memory_cache import MemoryCache
from daedal.objectives.program import Program
from daedal.types import Bits, Fitness, to_text

X = np.array([[1, 0, 1], [1, 1, 1], [0, 0, 0], [0, 1, 0]], dtype=np.uint8)
ONES = [2.0, 3.0, 0.0, 1.0]


def fails(objective: Callable[[Any], Any], says: str, evaluated: int = 0, **how: Any) -> ObjectiveError:
    """An evaluation of X fails and says so, with so many rows evaluated before."""
    evaluate = Evaluator(objective, **how)
    with pytest.raises(ObjectiveError, match=says) as caught:
        evaluate(X)
    assert evaluate.evaluations == evaluate.carried_out == evaluated
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    "objective",
    [
        lambda x: x.sum(axis=1),
        lambda x: x.sum(axis=1).tolist(),
        lambda x: tuple(x.sum(axis=1)),
        lambda x: x.sum(axis=1).astype(np.float32),
        lambda x: x.sum(axis=1).astype(np.uint8),
        lambda x: [Fraction(int(v)) for v in x.sum(axis=1)],
        lambda x: [Decimal(int(v)) for v in x.sum(axis=1)],
        lambda x: np.ma.array(x.sum(axis=1)),
    ],
)
def test_whatever_holds_one_number_a_row_is_fine(objective: Callable[[Any], Any]) -> None:
    fitness = Evaluator(objective)(X)
    assert fitness.tolist() == ONES
    assert fitness.dtype == np.float64


def test_truth_values_and_large_whole_numbers_are_numbers() -> None:
    assert Evaluator(lambda x: x[:, 0] == 1)(X).tolist() == [1.0, 1.0, 0.0, 0.0]
    assert Evaluator(lambda x: [10**30] * len(x))(X).tolist() == [1e30] * 4


@pytest.mark.parametrize("returned", [int, float, np.float64, np.array, lambda v: [v], Fraction])
def test_a_function_of_one_row_gives_the_same(returned: Callable[[int], Any]) -> None:
    assert Evaluator(lambda row: returned(int(row.sum())), vectorized=False)(X).tolist() == ONES


def test_a_function_of_one_row_gets_rows() -> None:
    seen: list[np.ndarray] = []
    Evaluator(lambda row: seen.append(row.copy()) or 0.0, vectorized=False)(X)
    assert np.array_equal(seen, X)
    assert all(row.shape == (3,) for row in seen)


def test_subtraction_means_what_it_says() -> None:
    assert Evaluator(lambda x: x[:, 0] - x[:, 1])(X).tolist() == [1.0, 0.0, 0.0, -1.0]
    assert Evaluator(lambda x: (2 * x - 1).sum(axis=1))(X).tolist() == [1.0, 3.0, -3.0, -1.0]


def test_a_problem_may_have_uint8() -> None:
    kinds = []
    Evaluator(lambda x: kinds.append(x.dtype) or x.sum(axis=1), dtype=np.uint8)(X)
    assert kinds == [np.uint8]


def test_minimising_turns_the_sign() -> None:
    assert Evaluator(lambda x: x.sum(axis=1), sign=-1)(X).tolist() == [-2.0, -3.0, 0.0, -1.0]
    assert Evaluator(lambda row: row.sum(), sign=-1, vectorized=False)(X).tolist() == [-2.0, -3.0, 0.0, -1.0]


def test_rows_are_counted() -> None:
    evaluate = Evaluator(lambda x: x.sum(axis=1))
    evaluate(X)
    evaluate(X[:1])
    assert evaluate.evaluations == 5


def test_what_the_objective_does_to_its_rows_stays_there() -> None:
    x = X.copy()

    def spoil(rows: np.ndarray) -> np.ndarray:
        ones = rows.sum(axis=1)
        rows[...] = 9
        return ones

    assert Evaluator(spoil)(x).tolist() == ONES
    assert Evaluator(spoil, dtype=np.uint8)(x).tolist() == ONES
    assert np.array_equal(x, X)


def test_an_objective_may_keep_and_change_what_it_returned() -> None:
    kept = np.zeros(4)

    def reuse(rows: np.ndarray) -> np.ndarray:
        kept[...] = rows.sum(axis=1)
        return kept

    fitness = Evaluator(reuse)(X)
    kept[...] = -1
    assert fitness.tolist() == ONES


@pytest.mark.parametrize("vectorized", [True, False])
def test_what_the_objective_raises_is_chained(vectorized: bool) -> None:
    own = ZeroDivisionError("by\nzero")

    def broken(x: np.ndarray) -> None:
        raise own

    where = r"for the row 101; .*, here of shape \(1, 3\) \(for a function" if vectorized else "for the row 101$"
    error = fails(broken, f"the objective raised ZeroDivisionError: by zero {where}", vectorized=vectorized)
    assert error.__cause__ is own
    assert isinstance(error, ValueError)


def test_an_exception_without_words_is_named() -> None:
    def broken(x: np.ndarray) -> None:
        raise KeyError

    fails(broken, "the objective raised KeyError for the row 101")


def test_an_interrupt_passes() -> None:
    def interrupted(x: np.ndarray) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Evaluator(interrupted)(X)


def test_an_objective_that_exits_does_not_end_the_program_in_silence() -> None:
    def leaving(x: np.ndarray) -> None:
        sys.exit(0)

    with pytest.raises(ObjectiveError, match="the objective raised SystemExit: 0"):
        Evaluator(leaving)(X)


@pytest.mark.parametrize(
    ("objective", "says"),
    [
        (lambda x: None, "expected numbers from the objective, got None; does it return its result"),
        (lambda x: x, r"expected one number a row, shape \(4,\), from the objective, got shape=\(4, 3\)"),
        (lambda x: x.sum(), r"shape \(4,\), from the objective, got shape=\(\); .*vectorized=False"),
        (lambda x: x.sum(axis=0), r"got shape=\(3,\)"),
        (lambda x: x.sum(axis=1)[:, None], r"got shape=\(4, 1\)"),
        (lambda x: [], r"got shape=\(0,\)"),
        (lambda x: ["a", "b", "c", "d"], r"expected numbers from the objective, got list \['a', 'b', 'c', 'd'\]"),
        (lambda x: ["1", "2", "3", "4"], "expected numbers from the objective, got list"),
        (lambda x: "1234", "got str '1234'"),
        (lambda x: x.sum(axis=1) * 1j, "got ndarray array"),
        (lambda x: [1, [2, 3], 4, 5], "expected numbers from the objective, got list"),
        (lambda x: [object()] * 4, "got list"),
        (lambda x: {"a": 1}, "got dict {'a': 1}"),
        (lambda x: (v for v in x), "got generator"),
        (
            lambda x: [10**400] * len(x),
            "expected numbers from the objective, got numbers beyond those of a float in list",
        ),
        (lambda x: np.array(["2020-01-01"] * 4, dtype="M8[D]"), "got ndarray"),
    ],
)
def test_what_is_not_one_number_a_row_is_refused(objective: Callable[[Any], Any], says: str) -> None:
    fails(objective, says)


def test_text_in_an_array_of_objects_is_text_still() -> None:
    fails(lambda x: np.array(["1", "2", "3", "4"], dtype=object), "expected numbers from the objective")


@pytest.mark.parametrize(
    ("objective", "says"),
    [
        (lambda row: row, r"expected one number for a row from the objective, got shape=\(3,\)"),
        (lambda row: None, "got None"),
        (lambda row: "1", "got str '1'"),
        (lambda row: [[1.0]], r"got shape=\(1, 1\)"),
    ],
)
def test_what_is_not_one_number_for_a_row_is_refused(objective: Callable[[Any], Any], says: str) -> None:
    fails(objective, says, vectorized=False)


@pytest.mark.parametrize("vectorized", [True, False])
def test_nan_is_refused_with_the_row_it_came_for(vectorized: bool) -> None:
    def f(x: np.ndarray) -> Any:
        ones = np.asarray(x.sum(axis=-1), dtype=float)
        return np.where(ones <= 1, np.nan, ones)

    so_far = r" \(2 of 4 rows failed so far\)" if vectorized else ""  # one by one, the first is the last
    says = "expected finite numbers from the objective, got nan for the row 000; use -inf for what is infeasible"
    fails(f, f"{says}{so_far}$", vectorized=vectorized, evaluated=2)


def test_infinity_is_refused_on_the_good_side_only() -> None:
    def f(value: float) -> Callable[[np.ndarray], Any]:
        return lambda x: np.where(x[:, 0] == 1, value, 0.0)

    so_far = r"what is infeasible \(2 of 4 rows failed so far\)$"
    fails(f(np.inf), f"got inf for the row 101; use -inf for {so_far}", evaluated=2)
    fails(f(-np.inf), f"got -inf for the row 101; use inf for {so_far}", evaluated=2, sign=-1)
    assert Evaluator(f(-np.inf))(X).tolist() == [-np.inf, -np.inf, 0.0, 0.0]
    assert Evaluator(f(np.inf), sign=-1)(X).tolist() == [-np.inf, -np.inf, 0.0, 0.0]


def test_a_long_answer_is_shortened() -> None:
    error = fails(lambda x: ["long words"] * 1000, re.escape("..."))
    assert len(str(error)) < 120


# Counted


class Scores:
    """A function of one row that fails for some of them, and knows how often it was asked for each."""

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


def counts(evaluate: Evaluator) -> tuple[int, int, int]:
    assert evaluate.evaluations == evaluate.carried_out + evaluate.cached + evaluate.failed
    return evaluate.carried_out, evaluate.cached, evaluate.failed


def texts(*rows: str) -> Bits:
    return np.array([[int(bit) for bit in row] for row in rows], dtype=np.uint8)


def test_a_row_that_comes_again_is_not_evaluated_again() -> None:
    scores = Scores()
    evaluate = Evaluator(scores, vectorized=False)
    assert evaluate(texts("01", "11", "01", "01")).tolist() == [1.0, 3.0, 1.0, 1.0]
    assert counts(evaluate) == (2, 2, 0)
    assert evaluate(texts("11", "10", "01")).tolist() == [3.0, 2.0, 1.0]
    assert counts(evaluate) == (3, 4, 0)
    assert scores.calls == ["01", "11", "10"]


def test_a_batch_holds_each_row_once() -> None:
    batches: list[list[str]] = []
    evaluate = Evaluator(lambda x: batches.append([to_text(row) for row in x]) or x.sum(axis=1))
    evaluate(texts("01", "11", "01"))
    evaluate(texts("00", "11", "10", "00"))
    evaluate(texts("00", "11"))
    assert batches == [["01", "11"], ["00", "10"]]


def test_with_noise_every_row_is_evaluated() -> None:
    scores = Scores()
    evaluate = Evaluator(scores, vectorized=False, deduplicate=False)
    evaluate(texts("01", "11", "01"))
    evaluate(texts("01"))
    assert scores.calls == ["01", "11", "01", "01"]
    assert counts(evaluate) == (4, 0, 0)


def test_values_that_are_known_are_not_asked_for() -> None:
    scores = Scores()
    for deduplicate in (True, False):
        evaluate = Evaluator(scores, vectorized=False, sign=-1, deduplicate=deduplicate)
        evaluate.preload(texts("01", "10"), np.array([5.0, 7.0]))
        assert evaluate(texts("01", "11", "10")).tolist() == [-5.0, -3.0, -7.0]
        assert counts(evaluate) == (1, 2, 0)
    assert scores.calls == ["11", "11"]


@settings(max_examples=60, deadline=None)
@given(
    batches=st.lists(st.lists(st.integers(0, 15), max_size=12), max_size=6),
    bad=st.sets(st.integers(0, 15), max_size=6),
    deduplicate=st.booleans(),
    vectorized=st.booleans(),
    sign=st.sampled_from([1, -1]),
    order=st.permutations(range(4)),
)
def test_every_row_is_carried_out_known_or_failed(
    batches: list[list[int]], bad: set[int], deduplicate: bool, vectorized: bool, sign: int, order: list[int]
) -> None:
    """Against a reference in plain Python: a dict, and three numbers."""
    asked: list[str] = []

    def score(row: np.ndarray) -> float:
        asked.append(to_text(row))
        if int(to_text(row), 2) in bad:
            raise RuntimeError
        return float(int(to_text(row), 2))

    def scores(x: np.ndarray) -> list[float]:
        for row in x:
            if int(to_text(row), 2) in bad:
                raise RuntimeError
        return [score(row) for row in x]

    evaluate = Evaluator(
        scores if vectorized else score,
        vectorized=vectorized,
        sign=sign,
        deduplicate=deduplicate,
        order=np.array(order),
        on_error=OnError(worst=True),
    )
    known: dict[str, float] = {}
    carried_out = cached = failed = 0
    failures: list[str] = []
    best = -math.inf
    for batch in batches:
        rows = [f"{number:04b}" for number in batch]
        own = ["".join(row[place] for place in order) for row in rows]
        new = [row for row in dict.fromkeys(own) if row not in known] if deduplicate else own
        if new and all(int(row, 2) in bad for row in new) and not known:
            with pytest.raises(ObjectiveError, match=f"every one of the first {len(new)} rows failed"):
                evaluate(texts(*rows))
            return
        expected = []
        for row in own:
            if deduplicate and row in known:
                cached += 1
            elif int(row, 2) in bad:
                failed += 1
                failures.append(row)
                known[row] = -math.inf
            else:
                carried_out += 1
                known[row] = sign * float(int(row, 2))
            expected.append(known[row])
        assert evaluate(texts(*rows) if rows else np.empty((0, 4), dtype=np.uint8)).tolist() == expected
        assert counts(evaluate) == (carried_out, cached, failed)
        best = max([best, *(value for value in known.values())])
        if known:
            assert evaluate.best is not None
            assert evaluate.best[1] == best
    assert [failure.x for failure in evaluate.failures] == failures
    if deduplicate:
        assert sorted(row for row in asked if int(row, 2) not in bad) == sorted(
            row for row, value in known.items() if value > -math.inf
        )


# Failures


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("raise", OnError()),
        ("worst", OnError(worst=True)),
        ("retry:3", OnError(retries=3)),
        ("retry:3,raise", OnError(retries=3)),
        ("retry:12,worst", OnError(retries=12, worst=True)),
    ],
)
def test_policies_are_read(text: str, policy: OnError) -> None:
    assert OnError.read(text) == policy


@pytest.mark.parametrize(
    "text", ["", "ignore", "retry", "retry:", "retry:0", "retry:-1", "retry:2.5", "retry:3,", "retry:3,best", None, 3]
)
def test_what_is_no_policy_is_refused(text: Any) -> None:
    says = "expected on_error to be raise, worst, retry:N or retry:N,worst, got on_error="
    with pytest.raises(ValueError, match=re.escape(f"{says}{text!r}")):
        OnError.read(text)


def failing(policy: str, scores: Scores, **how: Any) -> Evaluator:
    return Evaluator(scores, vectorized=False, on_error=OnError.read(policy), **how)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_row_that_failed_counts_as_the_worst_and_is_not_tried_again(sign: int) -> None:
    scores = Scores(fails=lambda row: row == "11")
    evaluate = failing("worst", scores, sign=sign)
    assert evaluate(texts("01", "11", "10", "11")).tolist() == [sign * 1.0, -math.inf, sign * 2.0, -math.inf]
    assert counts(evaluate) == (2, 1, 1)
    assert evaluate(texts("11", "01")).tolist() == [-math.inf, sign * 1.0]
    assert counts(evaluate) == (2, 3, 1)
    assert evaluate.failures == [Failure("11", "the objective raised RuntimeError: cannot do 11 for the row 11")]
    assert scores.calls == ["01", "11", "10"]
    assert evaluate.best is not None
    assert to_text(evaluate.best[0]) == ("10" if sign > 0 else "01")


def test_failures_are_counted_all_and_kept_some() -> None:
    evaluate = failing("worst", Scores(fails=lambda row: row.startswith("1")))
    rows = [f"{number:08b}" for number in range(256)]
    evaluate(texts(*rows))
    assert counts(evaluate) == (128, 0, 128)
    assert [failure.x for failure in evaluate.failures] == rows[128 : 128 + FAILURES_KEPT]


@pytest.mark.parametrize(
    ("policy", "times", "tries", "value"),
    [
        ("retry:2", 0, 1, 3.0),
        ("retry:2", 1, 2, 3.0),
        ("retry:2", 2, 3, 3.0),
        ("retry:2,worst", 2, 3, 3.0),
        ("retry:2,worst", 3, 3, -math.inf),
        ("worst", 1, 1, -math.inf),
    ],
)
def test_a_row_is_tried_as_often_as_the_policy_says(policy: str, times: int, tries: int, value: float) -> None:
    scores = Scores(fails=lambda row: row == "11", times=times)
    evaluate = failing(policy, scores)
    assert evaluate(texts("01", "11", "10")).tolist() == [1.0, value, 2.0]
    assert scores.calls.count("11") == tries
    assert scores.calls.count("01") == scores.calls.count("10") == 1
    assert counts(evaluate) == ((3, 0, 0) if value > 0 else (2, 0, 1))


@pytest.mark.parametrize(("policy", "tries"), [("raise", 1), ("retry:1", 2), ("retry:2", 3)])
def test_after_the_last_try_the_error_is_raised(policy: str, tries: int) -> None:
    scores = Scores(fails=lambda row: row == "11", times=tries)
    with pytest.raises(ObjectiveError, match=r"raised RuntimeError: cannot do 11 for the row 11$") as caught:
        failing(policy, scores)(texts("01", "11", "10"))
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert scores.calls.count("11") == tries


def test_nothing_but_failures_at_the_very_beginning_is_an_error_under_any_policy() -> None:
    scores = Scores(fails=lambda row: True)
    for policy in ("worst", "retry:1,worst"):
        says = "^every one of the first 3 rows failed, the first so: the objective raised RuntimeError: cannot do 01 "
        with pytest.raises(ObjectiveError, match=says):
            failing(policy, scores)(texts("01", "11", "10"))


def test_nothing_but_failures_later_is_no_error() -> None:
    evaluate = failing("worst", Scores(fails=lambda row: row.startswith("1")))
    evaluate(texts("01", "00"))
    assert evaluate(texts("11", "10")).tolist() == [-math.inf, -math.inf]
    assert counts(evaluate) == (2, 0, 2)


def test_nothing_but_failures_beside_what_is_known_is_no_error() -> None:
    """As in a second run with the cache of the first: what is left to evaluate is what fails."""
    evaluate = failing("worst", Scores(fails=lambda row: row.startswith("1")))
    evaluate.preload(texts("01"), np.array([1.0]))
    assert evaluate(texts("11", "01", "10")).tolist() == [-math.inf, 1.0, -math.inf]
    assert counts(evaluate) == (0, 1, 2)


def test_what_was_evaluated_before_a_failure_is_kept() -> None:
    for vectorized in (True, False):
        cache = MemoryCache(2)
        scores = Scores(fails=lambda row: row == "10")
        evaluate = Evaluator(
            (lambda x, scores=scores: [scores(row) for row in x]) if vectorized else scores,
            vectorized=vectorized,
            cache=cache,
        )
        with pytest.raises(ObjectiveError, match="for the row 10"):
            evaluate(texts("01", "11", "10", "00"))
        assert cache.find(texts("01", "11", "10", "00"))[1].tolist() == [True, True, False, False]
        assert counts(evaluate) == (2, 0, 0)


# A cache that others share


def test_the_cache_is_asked_in_the_objectives_own_order() -> None:
    order = np.array([2, 0, 1])
    cache = MemoryCache(3)
    first = Scores()
    rows = texts("011", "100", "010")
    values = Evaluator(first, vectorized=False, order=order, cache=cache)(rows)
    assert first.calls == ["101", "010", "001"]
    assert cache.find(texts(*first.calls))[0].tolist() == values.tolist()
    second = Scores()
    evaluate = Evaluator(second, vectorized=False, sign=-1, cache=cache)  # in its own order, and the other way up
    assert evaluate(texts("101", "010", "001", "111")).tolist() == [-5.0, -2.0, -1.0, -7.0]
    assert second.calls == ["111"]
    assert counts(evaluate) == (1, 3, 0)


def test_what_failed_is_not_in_the_cache() -> None:
    cache = MemoryCache(2)
    Evaluator(Scores(fails=lambda row: row == "11"), vectorized=False, cache=cache, on_error=OnError(worst=True))(
        texts("01", "11")
    )
    assert cache.find(texts("01", "11"))[1].tolist() == [True, False]


def test_what_is_infeasible_for_one_side_is_no_value_for_the_other() -> None:
    """inf of a minimisation is infeasible; taken from a cache, a maximisation could never get beyond it."""
    cache = MemoryCache(2)

    def f(row: np.ndarray) -> float:
        return math.inf if row[0] else float(row[1])

    assert Evaluator(f, vectorized=False, sign=-1, cache=cache)(texts("01", "10")).tolist() == [-1.0, -math.inf]
    evaluate = Evaluator(f, vectorized=False, cache=cache, on_error=OnError(worst=True))
    assert evaluate(texts("01", "10")).tolist() == [1.0, -math.inf]
    assert counts(evaluate) == (0, 1, 1)
    with pytest.raises(ObjectiveError, match="got inf for the row 10; use -inf"):
        Evaluator(f, vectorized=False, cache=cache)(texts("01", "10"))


# Time


def late(evaluate: Evaluator, seconds: float = 0.0) -> Evaluator:
    evaluate.deadline = time.monotonic() + seconds
    return evaluate


def test_a_deadline_breaks_off_a_batch_that_comes_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daedal.evaluation.serial.SECONDS_BETWEEN_NOTES", 0.0)  # each row is noted
    evaluate = late(Evaluator(Scores(), vectorized=False), -1.0)
    with pytest.raises(OutOfTime):
        evaluate(texts("01", "11", "10", "00"))
    assert counts(evaluate) == (1, 0, 0)
    assert evaluate.best is not None
    assert (to_text(evaluate.best[0]), evaluate.best[1]) == ("01", 1.0)


def test_the_best_is_that_of_the_rows_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daedal.evaluation.serial.SECONDS_BETWEEN_NOTES", 0.0)
    evaluate = Evaluator(Scores(), vectorized=False, sign=-1)
    bests: list[float] = []
    evaluate.listener = lambda: bests.append(evaluate.best[1] if evaluate.best else math.nan)
    evaluate(texts("10", "11", "01", "00"))
    assert bests == [-2.0, -2.0, -1.0, 0.0]


def test_a_run_has_something_to_show_for_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deadline before the first value waits for it; where all has failed so far, that is what there is to say."""
    monkeypatch.setattr("daedal.evaluation.serial.SECONDS_BETWEEN_NOTES", 0.0)
    evaluate = late(failing("worst", Scores(fails=lambda row: True)), -1.0)
    with pytest.raises(ObjectiveError, match="the time is used up, and no row has a value yet; the first failed so: "):
        evaluate(texts("01", "11", "10"))
    assert counts(evaluate) == (0, 0, 0)


# Broken off, and taken up again


def test_what_came_back_before_the_end_is_not_evaluated_again() -> None:
    rows = texts("01", "11", "10", "00", "11")
    first = Evaluator(Scores(fails=lambda row: row == "10"), vectorized=False)
    with pytest.raises(ObjectiveError):
        first(rows)
    scores = Scores()
    second = Evaluator(scores, vectorized=False)
    second.restore(first.state(), 2)
    assert second(rows).tolist() == [1.0, 3.0, 2.0, 0.0, 3.0]
    assert scores.calls == ["10", "00"]
    assert counts(second) == (4, 1, 0)


def test_an_objective_is_never_asked_about_nothing() -> None:
    """A checkpoint may be written when all rows of a batch are back, and before they are counted."""
    rows = texts("01", "11", "10")
    first = Evaluator(lambda x: x.sum(axis=1))
    first.answer(rows)
    second = Evaluator(lambda x: pytest.fail("asked about nothing"))
    second.restore(first.state(), 2)
    assert second(rows).tolist() == [1.0, 2.0, 1.0]
    assert counts(second) == (3, 0, 0)


# Whose it is


def test_what_is_the_users_own_is_not_closed() -> None:
    class Simulator:
        closed = False

        def __call__(self, x: Bits) -> Fitness:
            return x.sum(axis=1).astype(float)

        def close(self) -> None:
            self.closed = True

    simulator = Simulator()
    with Evaluator(simulator) as evaluate:
        evaluate(X)
    assert not simulator.closed


def test_a_program_that_is_kept_running_ends_with_the_run() -> None:
    program = Program("python3 -u -c 'for line in iter(input, None): print(line.count(chr(49)))'", persistent=True)
    with Evaluator(program) as evaluate:
        assert evaluate(X).tolist() == ONES
        assert len(program._idle) == 1
        process = program._idle[0].process
        assert process.poll() is None
    assert process.poll() is not None

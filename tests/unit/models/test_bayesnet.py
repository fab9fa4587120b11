"""The Bayesian network against a slow, transparent twin that scores every possible edge anew at every step."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.models import bayesnet
from daedal.models.bayesnet import BayesNet, FittedBayesNet

UNIT = 2**30


def fit(x: np.ndarray, max_parents: int | None = None, penalty: float = 1.0) -> FittedBayesNet:
    return BayesNet(max_parents=max_parents, penalty=penalty).fit(x, rng=np.random.default_rng(0))


def most_parents(rows: int, penalty: float = 1.0) -> int:
    return bayesnet.most_parents(rows, bayesnet.probability_price(rows, penalty))


def units(bits: float) -> int:
    return round(bits * UNIT)


class SlowNet:
    """Greedy construction by the book. Gains are in whole units, so that ties are ties here and there."""

    def __init__(self, x: np.ndarray, max_parents: int | None = None, penalty: float = 1.0) -> None:
        self.penalty = penalty
        self.columns = [tuple(column) for column in x.T.tolist()]
        self.rows, self.n = x.shape
        self.parents: list[list[int]] = [[] for _ in range(self.n)]
        self.score_of = cache(self._score_of)
        while True:
            gain, child, parent = max(
                ((self.gain(p, c), -c, -p) for p, c in self.legal_edges(max_parents)),
                default=(0, 0, 0),
            )
            if gain <= 0:
                break
            self.parents[-child].append(-parent)

    def counts(self, *variables: int) -> Counter[tuple[int, ...]]:
        return Counter(zip(*(self.columns[v] for v in variables), strict=True))

    def _score_of(self, child: int, parents: tuple[int, ...]) -> int:
        """-N H(X | parents) - penalty 2^|parents| log2(N) / 2, with each term rounded to a unit."""
        joint = sum(units(k * math.log2(k)) for k in self.counts(child, *parents).values())
        given = self.counts(*parents).values() if parents else [self.rows]
        price = units(self.penalty * math.log2(self.rows) / 2)
        return joint - sum(units(k * math.log2(k)) for k in given) - 2 ** len(parents) * price

    def entropy_score(self, child: int, parents: tuple[int, ...]) -> float:
        """The same, from the definition of the conditional entropy and without any rounding."""
        given = self.counts(*parents) if parents else {(): self.rows}
        bits = 0.0
        for configuration, k in self.counts(child, *parents).items():
            bits -= k / self.rows * math.log2(k / given[configuration[1:]])
        return -self.rows * bits - self.penalty * 2 ** len(parents) * math.log2(self.rows) / 2

    def family(self, v: int) -> set[int]:
        """The variable and all its ancestors."""
        found, new = {v}, [v]
        while new:
            older = {p for w in new for p in self.parents[w]}
            new = list(older - found)
            found |= older
        return found

    def legal_edges(self, max_parents: int | None) -> list[tuple[int, int]]:
        free = [c for c in range(self.n) if max_parents is None or len(self.parents[c]) < max_parents]
        families = [self.family(v) for v in range(self.n)]
        return [(p, c) for c in free for p in range(self.n) if p not in self.parents[c] and c not in families[p]]

    def gain(self, parent: int, child: int) -> int:
        before = tuple(self.parents[child])
        return self.score_of(child, (*before, parent)) - self.score_of(child, before)

    def table(self, child: int) -> list[float]:
        parents = self.parents[child]
        seen = self.counts(*parents) if parents else {(): self.rows}
        ones = self.counts(child, *parents)
        configurations = [bits[::-1] for bits in itertools.product((0, 1), repeat=len(parents))]
        return [ones[(1, *q)] / seen[q] if seen.get(q) else 0.5 for q in configurations]


def check_against_twin(x: np.ndarray, max_parents: int | None = None, penalty: float = 1.0) -> FittedBayesNet:
    fitted, slow = fit(x, max_parents, penalty), SlowNet(x, max_parents, penalty)
    n = x.shape[1]
    assert [fitted.parents_of(i).tolist() for i in range(n)] == slow.parents
    assert [fitted.table_of(i).tolist() for i in range(n)] == [slow.table(i) for i in range(n)]
    score = sum(slow.score_of(i, tuple(slow.parents[i])) for i in range(n))
    assert fitted.info["score"] == score / UNIT
    exact = sum(slow.entropy_score(i, tuple(slow.parents[i])) for i in range(n))
    assert fitted.info["score"] == pytest.approx(exact, abs=1e-5)
    assert fitted.info["edges"] == sum(map(len, slow.parents))
    assert fitted.info["max_in_degree"] == max(map(len, slow.parents))
    place = np.argsort(fitted.order)
    assert sorted(fitted.order) == list(range(n))
    assert all(place[p] < place[c] for c in range(n) for p in slow.parents[c])
    return fitted


KINDS = st.sampled_from(["fair", "rare", "zero", "one", "copy", "inverse", "and", "xor", "noisy"])


@st.composite
def data_sets(draw: st.DrawFn) -> np.ndarray:
    """Rows whose columns are random, constant, or made from the columns before them, in any order."""
    rows, kinds = draw(st.integers(1, 60)), draw(st.lists(KINDS, min_size=1, max_size=7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    columns = [rng.integers(0, 2, rows)]
    for kind in kinds:
        a, b = (columns[k] for k in rng.integers(0, len(columns), 2))
        columns.append(
            {
                "fair": rng.integers(0, 2, rows),
                "rare": (rng.random(rows) < 0.1).astype(int),
                "zero": np.zeros(rows, int),
                "one": np.ones(rows, int),
                "copy": a,
                "inverse": 1 - a,
                "and": a & b,
                "xor": a ^ b,
                "noisy": a ^ (rng.random(rows) < 0.15),
            }[kind],
        )
    order = rng.permutation(len(kinds))
    return np.ascontiguousarray(np.array(columns[1:], dtype=np.uint8)[order].T)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    x=data_sets(),
    max_parents=st.sampled_from([None, None, 0, 1, 2, 3, 10]),
    penalty=st.sampled_from([0.1, math.log(2), 1, 1, 3, 100]),
)
def test_greedy_network_tables_and_score_agree_with_the_twin(
    x: np.ndarray, max_parents: int | None, penalty: float
) -> None:
    check_against_twin(x, max_parents, penalty)


def mixed_rows(rows: int, n: int, seed: int) -> np.ndarray:
    """Blocks of 5 that are all ones, all zeros or random, with shuffled columns."""
    rng = np.random.default_rng(seed)
    blocks = -(-n // 5)
    x = rng.integers(0, 2, size=(rows, blocks, 5), dtype=np.uint8)
    chance = rng.random((rows, blocks))
    x[chance < 0.4] = 1
    x[chance > 0.7] = 0
    return np.ascontiguousarray(x.reshape(rows, -1)[:, rng.permutation(5 * blocks)[:n]])


@pytest.mark.parametrize(("n", "rows", "max_parents"), [(63, 70, None), (64, 64, 2), (75, 200, None), (130, 90, 1)])
def test_sets_of_more_variables_than_a_word_has_bits(n: int, rows: int, max_parents: int | None) -> None:
    assert check_against_twin(mixed_rows(rows, n, seed=n), max_parents).info["edges"] > 0.8 * n


@pytest.mark.parametrize("rows", [255, 256, 257, 1023, 5000])
def test_counts_across_the_borders_of_bytes_and_blocks(rows: int) -> None:
    x = mixed_rows(rows, 6, seed=rows)
    x[:, 5] = x[:, 0] & x[:, 1] | x[:, 2]
    assert check_against_twin(x).info["max_in_degree"] >= 2


def test_edges_of_a_complete_network_reach_the_limit_of_the_score() -> None:
    rng = np.random.default_rng(5)
    x = rng.integers(0, 2, size=(500, 8), dtype=np.uint8)
    x[:, 0] = x[:, 1:].sum(axis=1) > 3
    fitted = check_against_twin(x)
    assert 3 <= fitted.info["max_in_degree"] <= most_parents(500)


@pytest.mark.parametrize("penalty", [0.1, 1, 2.5])
@pytest.mark.parametrize("rows", [2, 3, 4, 5, 16, 17, 250, 8000, 2**20])
def test_no_parent_beyond_the_stated_number_can_gain(rows: int, penalty: float) -> None:
    most, price = most_parents(rows, penalty), penalty * math.log2(rows) / 2
    assert 2**most * price >= rows * (1 - 1e-9)  # the next one costs at least the whole entropy
    assert 2**most < 4 * rows / (penalty * math.log2(rows))  # the bound on a table that is documented


def test_one_row_or_equal_rows_have_no_edges() -> None:
    assert most_parents(1) == 0
    for rows in (1, 2, 100):
        row = np.arange(9, dtype=np.uint8) % 2
        assert fit(np.tile(row, (rows, 1))).info["edges"] == 0


def test_neither_the_order_of_rows_nor_what_stands_for_a_one_matters() -> None:
    x = mixed_rows(90, 12, seed=2)
    expected = fit(x)
    for same in (x[::-1], x * np.uint8(255)):
        fitted = fit(same)
        assert fitted.parents.tolist() == expected.parents.tolist()
        assert fitted.tables.tolist() == expected.tables.tolist()


def test_a_function_of_three_parents_is_found() -> None:
    others = np.array(list(itertools.product((0, 1), repeat=3)) * 20, dtype=np.uint8)
    x = np.column_stack([others.sum(axis=1) >= 2, others]).astype(np.uint8)
    fitted = fit(x)
    assert sorted(fitted.parents_of(0)) == [1, 2, 3]
    drawn = fitted.sample(500, rng=np.random.default_rng(0))
    assert (drawn[:, 0] == (drawn[:, 1:].sum(axis=1) >= 2)).all()

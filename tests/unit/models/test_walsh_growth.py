"""Which larger sets follow from given ones, against a search through all sets."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.models.walsh_growth import grow, supersets


@st.composite
def families(draw: st.DrawFn) -> tuple[np.ndarray, int]:
    n, order = draw(st.integers(4, 9)), draw(st.integers(2, 4))
    every = list(itertools.combinations(range(n), order))
    chosen = draw(st.lists(st.sampled_from(every), unique=True, max_size=40))
    return np.array(chosen, dtype=np.int64).reshape(-1, order), n


@settings(max_examples=200, deadline=None)
@given(families(), st.integers(0, 5000))
def test_all_subsets_but_one_are_given(family: tuple[np.ndarray, int], offset: int) -> None:
    members, n = family
    order, known = members.shape[1], set(map(tuple, members.tolist()))
    wanted = [
        large
        for large in itertools.combinations(range(n), order + 1)
        if sum(small in known for small in itertools.combinations(large, order)) >= order
    ]
    grown = grow(members + offset, np.ones(len(members)), 10**6) - offset
    assert list(map(tuple, grown.tolist())) == wanted


def test_too_many_come_from_the_stronger_half() -> None:
    # A clique of 30 and, stronger, one of 5: 4,060 triples and 10.
    weak, strong = (list(itertools.combinations(range(a, b), 2)) for a, b in ((0, 30), (40, 45)))
    members = np.array(weak + strong)
    strengths = np.array([1.0] * len(weak) + [-2.0] * len(strong))
    assert len(grow(members, strengths, 5000)) == 4070
    few = grow(members, strengths, 200)
    assert 0 < len(few) <= 200
    assert set(map(tuple, few.tolist())) >= set(itertools.combinations(range(40, 45), 3))
    assert grow(members, strengths, 0).shape == (0, 3)


@settings(max_examples=100, deadline=None)
@given(families())
def test_supersets_are_all_sets_or_those_around_the_given_ones(family: tuple[np.ndarray, int]) -> None:
    members, n = family
    order = members.shape[1]
    every = list(itertools.combinations(range(n), order + 1))
    strengths = np.arange(len(members), dtype=float)
    assert list(map(tuple, supersets(members, strengths, n, 10**5).tolist())) == every
    most = max(len(every) - 1, 0)
    strongest = members[::-1][: most // n]
    around = sorted({s for s in every if any(set(m) <= set(s) for m in strongest.tolist())})
    assert list(map(tuple, supersets(members, strengths, n, most).tolist())) == around

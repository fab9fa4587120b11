"""The archive: candidates as integers and as rows, each evaluated one once, with its parent and its constraints."""

from __future__ import annotations

import numpy as np
import pytest

from daedal.archive import Archive, to_candidates, to_rows


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 64, 65, 130])
def test_rows_and_integers_are_the_same_candidates(n: int) -> None:
    rows = np.random.default_rng(n).integers(0, 2, (7, n), dtype=np.uint8)
    candidates = to_candidates(rows)
    assert candidates == [sum(int(bit) << i for i, bit in enumerate(row)) for row in rows]
    back = to_rows(candidates, n)
    assert back.dtype == np.uint8
    assert np.array_equal(back, rows)


def test_no_candidates_are_no_rows() -> None:
    assert to_candidates(np.empty((0, 9), np.uint8)) == []
    assert to_rows([], 9).shape == (0, 9)


def test_a_candidate_keeps_its_first_value_place_and_parent() -> None:
    archive = Archive(3)
    archive.add(5, 1.0, None)
    archive.add(4, -np.inf, 5)
    archive.add(5, 2.0, 4)
    assert (len(archive), archive.order, archive.parents) == (2, [5, 4], [None, 5])
    assert (archive[5], archive[4], 4 in archive, 0 in archive) == (1.0, -np.inf, True, False)
    with pytest.raises(KeyError):
        archive[0]


def test_constraint_values_are_kept_by_place_and_nan_if_unknown() -> None:
    archive = Archive(2)
    archive.add(0, 1.0, None)
    archive.add(1, 2.0, None, [2.0, -0.5])
    archive.add(2, 3.0, None)
    known = archive.outputs_of([1, 0, 2], 2)
    assert known[0].tolist() == [2.0, -0.5]
    assert np.isnan(known[1:]).all()
    assert archive.outputs_of([], 2).shape == (0, 2)


def test_rows_are_found_by_their_places_in_the_order_of_arrival() -> None:
    archive, order = Archive(4), [9, 3, 15, 0, 7, 1, 2]
    archive.add_all(order, [float(place) for place in range(7)], {3: 9})
    archive.add_all([3, 8], [100.0, 7.0], {})
    assert archive.order == [*order, 8]
    assert (archive[3], archive.parents[1], archive[8]) == (1.0, 9, 7.0)
    assert to_candidates(archive.rows(np.array([2, 0]))) == [15, 9]

"""Earlier evaluations: from run files and tables, in the terms of another run."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import daedal
from daedal.run.known import from_keys, load_known, to_keys
from daedal.run.run_file import open_run
from daedal.spaces.space import describe

SPACE = daedal.Space(
    fast=daedal.Flag(), threads=daedal.Integer(1, 16), kernel=daedal.Choice("1", 2, None), order=daedal.Permutation(3)
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


def test_keys_are_what_the_objective_sees() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 8, 9, 100):
        rows = rng.integers(0, 2, (5, n), dtype=np.uint8)
        assert (from_keys(to_keys(rows), n) == rows).all()
    rows = SPACE.encoding.sample(50, rng=rng)
    assert SPACE.plain(from_keys(to_keys(rows, SPACE), SPACE.n, SPACE)) == SPACE.plain(rows)


def test_known_evaluations_of_a_space(path: Path) -> None:
    """From a file of a narrower space, and from tables with other columns, texts for values, and bad rows."""
    narrow = daedal.Space({**SPACE, "threads": daedal.Integer(1, 4)})
    rows = narrow.encoding.sample(20, rng=np.random.default_rng(1))
    with open_run(path, {"objective": "f", "n": narrow.n, "space": describe(narrow)}) as file:
        file.append(to_keys(rows, narrow), np.arange(20.0))
        file.append(to_keys(rows[:1], narrow), [None], errors=["ValueError: no"])
    known = load_known(path, n=SPACE.n, space=SPACE)
    assert (SPACE.plain(from_keys(known.keys, SPACE.n, SPACE)), known.values) == (narrow.plain(rows), [*range(20)])
    assert (known.skipped, known.objectives) == ({"no value": 1}, ["f"])
    pandas = pytest.importorskip("pandas")
    listed = [{**values, "value": at, "note": "x"} for at, values in enumerate(narrow.plain(rows))]
    listed += [{**listed[0], "threads": 17}, {**listed[0], "value": math.nan}]
    frame = pandas.DataFrame(listed)
    frame.to_csv(path.with_suffix(".csv"))
    for source in (listed, frame, path.with_suffix(".csv")):
        same = load_known(source, n=SPACE.n, space=SPACE)
        assert (same.keys, same.values) == (known.keys, known.values)
        assert same.skipped == {"not in the space": 1, "no value": 1}
    with pytest.raises(ValueError, match="need a column fitness or value, but there is only fast, threads"):
        load_known(frame.drop(columns="value"), n=SPACE.n, space=SPACE)


def test_known_evaluations_of_bits(path: Path) -> None:
    rows = np.eye(3, dtype=np.uint8)
    with open_run(path, {"objective": "f", "n": 3, "names": ["a", "b", "c"]}) as file:
        file.append(to_keys(rows), [1.0, 2.0, 3.0], [[0.5]] * 3)
    assert load_known(path, n=3).keys == to_keys(rows)
    assert load_known(path, n=3, names=["c", "a", "b"]).keys == to_keys(rows[:, [2, 0, 1]])
    assert load_known(path, n=3, names=["c", "a", "b"]).outputs == [(0.5,)] * 3
    assert load_known(path, n=4).skipped == {"not in the space": 3}
    assert load_known([{"x0": 1, "x1": False, "fitness": "2.5"}], n=2) == load_known(
        [{"x0": True, "x1": 0, "value": 2.5}], n=2
    )

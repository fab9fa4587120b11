"""Spaces: what users give, and what comes back."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import daedal
from daedal import Choice, Flag, Integer, Permutation, Space, Subset
from daedal.spaces.space import describe, described, read_space, read_values, read_variables

SPACE = Space(
    fast=Flag(),
    threads=Integer(-1, 3),
    kernel=Choice("a", "b", None, 2.5),
    jobs=Permutation(["x", "y", "z"]),
    features=Subset(3, at_least=1, at_most=2),
)
ALL = [
    {"fast": fast, "threads": threads, "kernel": kernel, "jobs": list(jobs), "features": list(features)}
    for fast in (False, True)
    for threads in range(-1, 4)
    for kernel in ("a", "b", None, 2.5)
    for jobs in itertools.permutations("xyz")
    for features in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2))
]


def test_every_value_comes_back() -> None:
    rows = SPACE.encode(ALL)
    assert SPACE.plain(rows) == ALL
    assert len({row.tobytes() for row in rows}) == len(ALL) == SPACE.size
    assert (SPACE.encoding.repair(rows) == rows).all()


def test_columns_have_one_entry_a_row() -> None:
    columns = SPACE.decode(SPACE.encode(ALL[:100]))
    for row, value in enumerate(ALL[:100]):
        assert columns["fast"][row] == value["fast"]
        assert columns["threads"][row] == value["threads"]
        assert columns["kernel"][row] == value["kernel"]
        assert columns["jobs"][row].tolist() == value["jobs"]
        assert np.flatnonzero(columns["features"][row]).tolist() == value["features"]
    assert columns["fast"].dtype == np.bool_
    assert columns["threads"].dtype == np.int64


def test_texts_and_numbers_come_in_arrays_of_their_own_kind() -> None:
    assert Choice("a", "bb").column(np.array([1])).dtype.kind == "U"
    assert Choice(1, 2).column(np.array([1])).dtype.kind == "i"
    assert Choice(1, 2.5).column(np.array([1, 0])).tolist() == [2.5, 1]
    assert Choice("a\0", "a").column(np.array([0, 1])).tolist() == ["a\0", "a"]


def test_a_space_is_what_its_description_says() -> None:
    assert described(describe(SPACE)) == SPACE
    assert described(describe(SPACE)) != Space(fast=Flag())


def test_a_file_describes_a_space(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text(
        'fast = {type = "flag"}\n[threads]\ntype = "integer"\nlow = -1\nhigh = 3\n'
        '[kernel]\ntype = "choice"\nvalues = ["a", "b"]\n[jobs]\ntype = "permutation"\nitems = ["x", "y"]\n'
        '[features]\ntype = "subset"\nitems = 3\nexactly = 2\n'
    )
    assert read_space(path) == Space(
        fast=Flag(),
        threads=Integer(-1, 3),
        kernel=Choice("a", "b"),
        jobs=Permutation(["x", "y"]),
        features=Subset(3, exactly=2),
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "none"),
        ("a = 1", "type"),
        ("[a]\nlow = 1", "type"),
        ('[a]\ntype = "float"', "float"),
        ('[a]\ntype = "integer"\nlow = 1', "high"),
        ('[a]\ntype = "integer"\nlow = 1\nhigh = 0', "low"),
        ('[a]\ntype = "integer"\nlow = 1\nhigh = 3\nstep = 2', "step"),
        ('[a]\ntype = "choice"\nvalues = "ab"', "list"),
        ('[a]\ntype = "choice"\nvalues = []', "none"),
        ('[a]\ntype = "choice"\nvalues = [[1]]', "values"),
        ('[a]\ntype = "subset"\nitems = 3\nat_most = 4', "at_most"),
        ('[a]\ntype = "subset"\nitems = 1000000000000', "bits"),
        ('[a]\ntype = "flag"\n[a]\ntype = "flag"', "a"),
        ("a = [", "TOML"),
    ],
)
def test_a_file_that_is_none_is_refused_in_a_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "space.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=said) as caught:
        read_space(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (Space, "none"),
        (lambda: Space({}), "none"),
        (lambda: Space({"a": Flag()}, a=Flag()), "'a'"),
        (lambda: Space({"": Flag()}), "''"),
        (lambda: Integer(3, 1), "low=3, high=1"),
        (lambda: Integer(0.5, 1), "low=0.5"),  # type: ignore[arg-type]
        (lambda: Integer(0, 2**63), "high="),
        (lambda: Integer(0, 1, code="unary"), "unary"),
        (Choice, "at least one"),
        (lambda: Choice(["a", "b"]), "one by one"),  # type: ignore[arg-type]
        (lambda: Choice("a", "a"), "'a'"),
        (lambda: Choice(1, True), "twice"),
        (lambda: Choice(print), "names"),  # type: ignore[arg-type]
        (lambda: Choice(float("nan")), "nan"),
        (lambda: Permutation(0), "items=0"),
        (lambda: Permutation("abc"), "abc"),
        (lambda: Permutation(["a", "a"]), "twice"),
        (lambda: Subset(3, at_most=4), "at_most=4"),
        (lambda: Subset(3, exactly=4), "exactly=4"),
        (lambda: Subset(3, at_least=2, at_most=1), "at_least=2, at_most=1"),
        (lambda: Subset(3, at_least=-1), "at_least=-1"),
        (lambda: Subset(3, exactly=1, at_most=2), "both"),
        (lambda: Subset([]), "at least one"),
    ],
)
def test_what_is_no_space_is_refused(make: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_what_is_no_variable_is_refused() -> None:
    with pytest.raises(TypeError, match="size"):
        Space(size=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"fast": 2}, "fast"),
        ({"threads": 4}, "threads.*-1 to 3"),
        ({"threads": 1.5}, "threads"),
        ({"threads": True}, "threads"),
        ({"kernel": "c"}, "kernel.*'a'"),
        ({"kernel": ["a"]}, "kernel"),
        ({"jobs": ["x", "y"]}, "jobs.*all 3"),
        ({"jobs": ["x", "y", "y"]}, "jobs.*once"),
        ({"jobs": "xyz"}, "jobs"),
        ({"features": []}, "features.*1 to 2"),
        ({"features": [0, 1, 2]}, "features.*1 to 2"),
        ({"features": [3]}, "features.*0 to 2"),
        ({"other": 1}, "other"),
    ],
)
def test_values_that_are_none_are_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        SPACE.encode([{**ALL[0], **change}])


def test_a_missing_value_is_named() -> None:
    with pytest.raises(ValueError, match="'fast' is missing in value 2"):
        SPACE.encode([ALL[0], {name: value for name, value in ALL[0].items() if name != "fast"}])


def test_values_come_as_others_have_them() -> None:
    value = {**ALL[0], "fast": np.bool_(True), "threads": np.float64(2), "features": np.array([True, False, True])}
    assert SPACE.value(SPACE.encode([value])[0]) == {**ALL[0], "fast": True, "threads": 2, "features": [0, 2]}


def test_a_data_frame_holds_values_and_their_worth() -> None:
    frame = pd.DataFrame(ALL[:4])
    rows, worth = read_values(frame, SPACE)
    assert SPACE.plain(rows) == ALL[:4]
    assert worth is None
    rows, worth = read_values(frame.assign(fitness=[1, 2, 3, 4.5]), SPACE)
    assert SPACE.plain(rows) == ALL[:4]
    assert worth is not None
    assert worth.tolist() == [1, 2, 3, 4.5]


def test_names_come_from_lists_and_frames() -> None:
    frame = pd.DataFrame({"age": [1], "size": [2]})
    for given in (["age", "size"], ("age", "size"), frame, frame.columns, np.array(["age", "size"])):
        assert read_variables(given) == (2, None, ("age", "size"))
    assert read_variables(7) == (7, None, None)
    assert read_variables(SPACE) == (None, SPACE, None)
    for bad, said in (([], "empty"), (["a", "a"], "'a'")):
        with pytest.raises(ValueError, match=said):
            read_variables(bad)
    with pytest.raises(TypeError, match="onemax"):
        read_variables("onemax")


def test_fixed_variables_take_no_bits() -> None:
    space = Space(kernel=Choice("a"), size=Integer(3, 3), order=Permutation(1), on=Flag())
    assert space.n == 1
    assert space.value(np.array([1], np.uint8)) == {"kernel": "a", "size": 3, "order": [0], "on": True}
    fixed = Space(kernel=Choice("a"))
    result = daedal.maximize(lambda values: np.ones(len(values["kernel"])), fixed, seed=1)
    assert result.best == {"kernel": "a"}
    assert fixed.value(fixed.encode([{"kernel": "a"}])[0]) == {"kernel": "a"}

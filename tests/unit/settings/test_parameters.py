"""Settings by name: what is known, and how text becomes a value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest

from daedal.settings.parameters import REQUIRED, Parameter, coerce, current, parameters, unknown


@dataclass(frozen=True, kw_only=True)
class Everything:
    count: int
    rate: float = 0.5
    deep: bool = True
    hidden: int | None = None
    word: Literal["red", "blue"] = "red"
    name: str = "x"


KNOWN = parameters(Everything)


def read(name: str, value: Any) -> Any:
    return coerce("thing", {name: value}, KNOWN)[name]


def test_parameters_are_those_of_the_class_in_its_order() -> None:
    assert list(KNOWN) == ["count", "rate", "deep", "hidden", "word", "name"]
    assert KNOWN["count"].default is REQUIRED
    assert KNOWN["rate"] == Parameter("rate", float, 0.5)


def test_parameters_of_a_function_and_of_a_method() -> None:
    def make(n: int, k: int = 2, **rest: object) -> None: ...

    assert list(parameters(make)) == ["n", "k"]
    assert parameters(make)["k"] == Parameter("k", int, 2)


def test_what_has_no_annotation_or_one_that_nobody_knows_has_the_type_of_its_default() -> None:
    def f(a=1.5, b: Nowhere = 3, c: int | None = None, d=True, e=None) -> None: ...  # type: ignore  # noqa: F821

    assert [one.hint for one in parameters(f).values()] == [float, int, int | None, bool, str]


def test_current_gives_the_values_in_force() -> None:
    assert current(Everything(count=3, deep=False)) == {
        "count": 3,
        "rate": 0.5,
        "deep": False,
        "hidden": None,
        "word": "red",
        "name": "x",
    }


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("count", "12", 12),
        ("count", " -3", -3),
        ("count", 7, 7),
        ("count", np.int32(7), 7),
        ("rate", "0.05", 0.05),
        ("rate", "1e-3", 0.001),
        ("rate", 1, 1.0),
        ("rate", Fraction(1, 4), 0.25),
        ("rate", np.float32(0.5), 0.5),
        ("deep", "true", True),
        ("deep", "No", False),
        ("deep", "0", False),
        ("deep", False, False),
        ("hidden", "none", None),
        ("hidden", "None", None),
        ("hidden", None, None),
        ("hidden", "8", 8),
        ("word", "blue", "blue"),
        ("name", "none", "none"),
    ],
)
def test_a_value_becomes_what_the_parameter_expects(name: str, value: Any, expected: Any) -> None:
    result = read(name, value)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("count", "3.5", "expected count of thing to be a whole number, got count=3.5"),
        ("count", 3.0, "expected count of thing to be a whole number, got count=3.0"),
        ("count", True, "got count=True"),
        ("count", "", "expected count of thing to be a whole number, got count="),
        ("count", None, "got count=None"),
        ("rate", "fast", "expected rate of thing to be a number, got rate=fast"),
        ("rate", False, "got rate=False"),
        ("rate", None, "got rate=None"),
        ("deep", "maybe", "expected deep of thing to be true or false, got deep=maybe"),
        ("deep", 1, "got deep=1"),
        ("hidden", "many", "expected hidden of thing to be a whole number or none, got hidden=many"),
        ("word", "green", "expected word of thing to be red or blue, got word=green"),
        ("word", 3, "got word=3"),
        ("name", 3, "expected name of thing to be text, got name=3"),
    ],
)
def test_anything_else_is_refused(name: str, value: Any, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says) + "$"):
        read(name, value)


def test_an_unknown_name_gets_the_nearest_one_and_all_there_are() -> None:
    with pytest.raises(ValueError, match="unknown setting of thing 'rat', did you mean 'rate'\\? Known: count, deep, "):
        coerce("thing", {"count": 1, "rat": 0.5}, KNOWN)
    with pytest.raises(
        ValueError, match=r"unknown setting of thing 'zzz'\. Known: count, deep, hidden, name, rate, word$"
    ):
        coerce("thing", {"zzz": 0.5}, KNOWN)
    with pytest.raises(ValueError, match=r"unknown setting of umda 'rate'\. Known: none$"):
        coerce("umda", {"rate": 1}, {})


def test_unknown_names_are_sorted() -> None:
    assert unknown("word", "q", ["b", "a"]) == "unknown word 'q'. Known: a, b"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("count", "a whole number"),
        ("rate", "a number"),
        ("deep", "true or false"),
        ("hidden", "a whole number or none"),
        ("word", "red or blue"),
        ("name", "text"),
    ],
)
def test_types_are_described_in_words(name: str, words: str) -> None:
    assert KNOWN[name].describe() == words


def test_nothing_given_changes_nothing() -> None:
    assert coerce("thing", {}, KNOWN) == {}

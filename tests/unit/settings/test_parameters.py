"""Settings by name: what is known, and how text becomes a value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np
import pytest

import daedal
from daedal.settings.parameters import REQUIRED, Parameter, coerce, current, parameter_texts, parameters, written


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


def make(n, rate=0.5, deep=True, hidden=None, name="x", sizes=(1, 2), *rest: int, k: int = 2, **more: object):  # type: ignore[no-untyped-def]
    """Make something, and say little of it."""


def hidden_types(n: NotImported, k: int = 2, m: int | None = None) -> None:  # type: ignore[name-defined]  # noqa: F821
    """Make something, with types that only a type checker sees."""


def test_what_says_nothing_of_its_type_has_that_of_its_default() -> None:
    known = parameters(make)
    assert list(known) == ["n", "rate", "deep", "hidden", "name", "sizes", "k"]
    assert [known[name].hint for name in ("rate", "deep", "name", "sizes", "k")] == [float, bool, str, tuple, int]
    assert known["n"].describe() == known["hidden"].describe() == "anything"
    for text, value in (("5", 5), ("0.5", 0.5), ("yes", True), ("red", "red"), (5, 5), (None, None), (False, False)):
        assert repr(coerce("thing", {"n": text}, known)["n"]) == repr(value)
    assert coerce("thing", {"sizes": (3,)}, known) == {"sizes": (3,)}
    with pytest.raises(ValueError, match="rate=fast"):
        coerce("thing", {"rate": "fast"}, known)
    for function in (hidden_types, partial(make, k=3)):
        assert parameters(function)["k"].hint is int
    assert parameters(hidden_types)["m"].hint == int | None


def test_current_gives_the_values_in_force() -> None:
    expected = {"count": 3, "rate": 0.5, "deep": False, "hidden": None, "word": "red", "name": "x"}
    assert current(Everything(count=3, deep=False)) == expected


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("count", "12", 12),
        ("count", " -3", -3),
        ("count", np.int32(7), 7),
        ("rate", "0.05", 0.05),
        ("rate", "1e-3", 0.001),
        ("rate", 1, 1.0),
        ("rate", Fraction(1, 4), 0.25),
        ("rate", np.float32(0.5), 0.5),
        ("deep", "true", True),
        ("deep", "No", False),
        ("deep", "0", False),
        ("hidden", "none", None),
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
        ("count", "3.5", "a whole number, got count=3.5"),
        ("count", 3.0, "a whole number, got count=3.0"),
        ("count", True, "count=True"),
        ("count", None, "count=None"),
        ("rate", "fast", "a number, got rate=fast"),
        ("rate", 10**400, f"rate={10**400}"),
        ("deep", "maybe", "true or false, got deep=maybe"),
        ("deep", 1, "deep=1"),
        ("hidden", "many", "a whole number or none, got hidden=many"),
        ("word", "green", "red or blue, got word=green"),
        ("word", 3, "word=3"),
        ("name", 3, "text, got name=3"),
    ],
)
def test_anything_else_is_refused(name: str, value: Any, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says) + "$"):
        read(name, value)


@pytest.mark.parametrize(
    ("name", "known", "says"),
    [
        ("rat", KNOWN, "'rat', did you mean 'rate'?"),
        ("rat", KNOWN, "Known: count, deep, hidden, name, rate, word"),
        ("zzz", KNOWN, "'zzz'. Known"),
        ("rate", {}, "Known: none"),
        ("max_evals", KNOWN, "'max_evaluations'"),
        ("COUNT", KNOWN, "'count'"),
    ],
)
def test_an_unknown_name_gets_the_nearest_one_and_all_there_are(
    name: str, known: dict[str, Parameter], says: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        coerce("thing", {name: 0.5}, known, keywords=("max_evaluations",))


def test_types_are_described_in_words() -> None:
    words = ["a whole number", "a number", "true or false", "a whole number or none", "red or blue", "text"]
    assert [parameter.describe() for parameter in KNOWN.values()] == words


def sized(layers: int | tuple[int, ...] | None = None) -> None:
    """Make something of one or more layers."""


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("8", 8), ("8,4", (8, 4)), (" 8, 4 ", (8, 4)), ("(8, 4)", (8, 4)), ("8,", (8,)), ([8, 4], (8, 4)), ((8,), (8,)),
        ((np.int64(8), 4), (8, 4)), ("none", None), (None, None), ((), ()),
    ],
)  # fmt: skip
def test_whole_numbers_with_commas_between_them(given: Any, read: Any) -> None:
    known = parameters(sized)
    assert coerce("thing", {"layers": given}, known) == {"layers": read}
    if read == (8, 4):
        assert coerce("thing", {"layers": written(read)}, known) == {"layers": read}


@pytest.mark.parametrize("given", ["8;4", "8,x", "()", ",", "", (8, 1.5), (True, 2), ("a",), {8, 4}, 1.5])
def test_what_are_no_whole_numbers_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="expected layers of thing to be a whole number or whole numbers with commas"):
        coerce("thing", {"layers": given}, parameters(sized))


# Docstrings


class Base:
    """First.

    Parameters
    ----------
    kept, changed
        Of the
        base.
    """

    def __init__(self, kept: int, changed: int) -> None:
        pass


class Heir(Base):
    """Second.

    Parameters
    ----------
    changed : int, optional
        Of the heir.

        And more.
    **others
        Whatever.

    Notes
    -----
    kept
        Nothing of this counts.
    """


def test_names_share_a_text_and_heirs_say_what_is_new() -> None:
    assert parameter_texts(Base) == {"kept": "Of the base.", "changed": "Of the base."}
    assert parameter_texts(Heir) == {"kept": "Of the base.", "changed": "Of the heir. And more.", "others": "Whatever."}
    assert parameters(Heir)["changed"].meaning == "Of the heir. And more."


@pytest.mark.parametrize("doc", [None, "", "One line.", "Parameters\n----------", "Parameters\n----------\nx"])
def test_docstrings_that_say_nothing(doc: str | None) -> None:
    def function(x: int) -> None:
        pass

    function.__doc__ = doc
    assert parameter_texts(function).get("x", "") == ""
    assert parameters(function)["x"].meaning == ""


@pytest.mark.parametrize("name", list(daedal.algorithms()))
def test_every_setting_of_every_algorithm_is_described(name: str) -> None:
    for parameter in daedal.algorithms()[name].parameters().values():
        assert parameter.meaning, parameter.name
        assert not {"default_popsize", "Restarts"} & set(re.findall(r"\w+", parameter.meaning)), parameter.name


def test_one_text_for_two_settings_is_about_both() -> None:
    settings = daedal.algorithms()["dae"].parameters()
    assert settings["biases"].meaning != settings["init_scale"].meaning

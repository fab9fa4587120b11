"""Texts of users can be stored, and are shown without a terminal obeying them."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from daedal.settings.checks import describe_error, printable, storable, visible

ANY = st.text(st.characters())  # lone surrogates and control characters included


@given(ANY)
@example("\udcff\ud800")
def test_anything_can_be_stored_and_what_could_be_before_stays(text: str) -> None:
    assert storable(text).encode().decode() == storable(text)
    if not any(unicodedata.category(sign) == "Cs" for sign in text):
        assert storable(text) == text


@given(ANY)
@example("\x1b[31m\a\x9b0m\u202e\u2066\r\n\t\udcff\x7f\u2028")
def test_nothing_that_is_shown_is_obeyed(text: str) -> None:
    for shown in (visible(text), printable(text)):
        assert shown.encode().decode() == shown
        assert not {unicodedata.category(sign) for sign in shown} & {"Cc", "Cs", "Zl", "Zp"}
        assert not {unicodedata.bidirectional(sign) for sign in shown} & {"LRE", "RLE", "LRO", "RLO", "PDF"}
        assert not {unicodedata.bidirectional(sign) for sign in shown} & {"LRI", "RLI", "FSI", "PDI"}
        assert printable(shown) == " ".join(shown.split()), "an escape is no reason for another"


def test_what_can_be_seen_stays() -> None:
    text = r"nk:C:\data\x.nk, Köln, 東京, 👩‍🚀, [red]"
    assert visible(text) == printable(text) == text
    assert visible("a  b") == "a  b"
    assert printable(" a \n b ") == "a b"


class Speechless(Exception):  # noqa: N818  it has no better name
    def __str__(self) -> str:
        raise RuntimeError("not even this")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError("no file \udcff\x1b[2J"), r"OSError: no file \udcff\x1b[2J"),
        (ValueError(" two\nlines "), "ValueError: two lines"),
        (KeyError(), "KeyError"),
        (Speechless(), "Speechless"),
        (type("Odd\x1b", (Exception,), {})("x"), r"Odd\x1b: x"),
    ],
)
def test_an_exception_is_told_whatever_it_says(error: Exception, told: str) -> None:
    assert describe_error(error) == told


def test_what_an_exception_says_is_not_a_book() -> None:
    assert len(describe_error(ValueError("word " * 10**6))) < 1100

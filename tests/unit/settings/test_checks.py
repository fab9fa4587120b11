"""Checks of settings: what passes, and what a refusal names; texts that are shown without a terminal obeying them."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from daedal.settings.checks import (
    check_at_least,
    check_between,
    check_fits,
    check_one_of,
    check_whole,
    describe_error,
    machine_bytes,
    printable,
    readable_bytes,
    storable,
    visible,
)


@pytest.mark.parametrize("value", [2, 10**30, np.int64(2), np.uint8(200)])
def test_a_whole_number_comes_back_as_an_int(value: int) -> None:
    assert check_whole("k", value, least=2) == value
    assert type(check_whole("k", value, least=2)) is int


@pytest.mark.parametrize("value", [1, -5, True, 3.0, np.float64(3), "3", None, float("nan"), [3]])
def test_what_is_no_whole_number_or_too_small_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="of at least 2, got k=") as caught:
        check_whole("k", value, least=2)
    assert str(caught.value).endswith(f"k={value!r}")


def test_a_refusal_names_the_owner_and_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"^expected k of trap .* got k=1; try 4$"):
        check_whole("k", 1, least=2, of="trap", hint="try 4")


def test_numbers_at_the_bounds_pass_and_beyond_them_are_refused() -> None:
    for value in (0.0, 0.5, 1):
        check_between("share", value, 0, 1)
    for value in (0, 7.5, 1e300):
        check_at_least("rate", value, 0)
    for value in (-1e-9, 1.001, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=f"between 0 and 1, got share={value:g}"):
            check_between("share", value, 0, 1)
    for value in (-1e-9, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=f"at least 0, got rate={value:g}"):
            check_at_least("rate", value, 0)


def test_a_word_is_one_of_the_known() -> None:
    check_one_of("selection", "truncation", ("tournament", "truncation"))
    with pytest.raises(ValueError, match="tournament, truncation, got selection='best'"):
        check_one_of("selection", "best", ("tournament", "truncation"))


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (1, "1 bytes"),
        (1023, "1023 bytes"),
        (1536, "1.5 KiB"),
        (3 * 2**30, "3 GiB"),
        (2**60, "1 EiB"),
        (2**94 + 1, "2^94 bytes"),
    ],
)
def test_bytes_for_a_human_reader(count: int, text: str) -> None:
    assert readable_bytes(count) == text


def test_the_machine_has_some_memory_and_16_gib_where_it_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 2**26 < machine_bytes() < 2**50
    monkeypatch.delattr(os, "sysconf")  # as on Windows
    assert machine_bytes() == 16 * 2**30


def test_a_container_has_what_it_may_have(tmp_path: Path) -> None:
    whole = machine_bytes(limits=())
    limited, unlimited, more = (tmp_path / name for name in ("limited", "unlimited", "more"))
    limited.write_text("1048576\n")
    unlimited.write_text("max\n")
    more.write_text(f"{2 * whole}\n")
    assert machine_bytes(limits=[str(unlimited), str(tmp_path / "none"), str(more)]) == whole
    assert machine_bytes(limits=[str(limited), str(more)]) == 2**20


def test_what_fits_passes_and_what_does_not_is_named() -> None:
    check_fits(2**31, "a thing", available=2**31)
    with pytest.raises(ValueError, match=r"^a thing takes about 3 GiB of memory, .* 2 GiB"):
        check_fits(3 * 2**30, "a thing", available=2**31)
    check_fits(machine_bytes(), "a thing")
    with pytest.raises(ValueError, match="a thing"):
        check_fits(machine_bytes() + 1, "a thing")


# Texts

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

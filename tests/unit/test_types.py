"""Rows of bits and their text form."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from daedal.types import check_bits, from_text, to_text


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_text_and_back(n: int) -> None:
    for word in itertools.product("01", repeat=n):
        text = "".join(word)
        row = from_text(text)
        assert row.dtype == np.uint8
        assert row.tolist() == [int(bit) for bit in word]
        assert to_text(row) == text


def test_rows_of_any_integer_type_have_a_text() -> None:
    assert to_text(np.array([True, False])) == "10"  # type: ignore[arg-type]
    assert to_text(np.array([0, 1, 1], dtype=np.int64)) == "011"  # type: ignore[arg-type]


def test_a_row_from_text_can_be_changed() -> None:
    row = from_text("101")
    row[1] = 1
    assert to_text(row) == "111"


@pytest.mark.parametrize("text", ["012", "1 0", "0b1", "\u0661\u0660", "10\n"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a string of 0 and 1"):
        from_text(text)


def test_rows_of_the_right_kind_pass() -> None:
    check_bits(np.zeros((3, 4), np.uint8), 4)
    check_bits(np.zeros((0, 4), np.uint8), 4)
    check_bits(np.asfortranarray(np.zeros((3, 4), np.uint8)), 4)


@pytest.mark.parametrize(
    ("x", "came"),
    [
        (np.zeros((3, 5), np.uint8), r"shape=\(3, 5\), dtype=uint8"),
        (np.zeros(4, np.uint8), r"shape=\(4,\), dtype=uint8"),
        (np.zeros((3, 4, 1), np.uint8), r"shape=\(3, 4, 1\), dtype=uint8"),
        (np.zeros((3, 4)), r"shape=\(3, 4\), dtype=float64"),
        (np.zeros((3, 4), bool), r"shape=\(3, 4\), dtype=bool"),
        ([[0, 1, 0, 1]], "list"),
        (None, "NoneType"),
    ],
)
def test_anything_else_is_refused_with_both_sides(x: object, came: str) -> None:
    with pytest.raises(ValueError, match=rf"bits must be a uint8 array of shape \(rows, 4\); got {came}$"):
        check_bits(x, 4)  # type: ignore[arg-type]

"""A result for eyes: the solution in one piece, however long it is."""

from __future__ import annotations

import pytest
from console_helpers import a_console, plain, text_of

import daedal
from daedal.cli.result_text import show
from daedal.types import to_text


@pytest.mark.parametrize("kind", [None, "xterm"])
@pytest.mark.parametrize("width", [40, 80])
def test_bits_stay_in_one_piece_and_stand_below_each_other(kind: str | None, width: int) -> None:
    result = daedal.maximize("onemax:n=60", algorithm="umda", popsize=20, seed=1, max_generations=2)
    console = a_console(kind=kind, width=width)
    show(result, console)
    lines = plain(text_of(console)).splitlines()
    (place,) = [k for k, line in enumerate(lines) if to_text(result.x) in line]
    broken = kind is not None and width < 60
    assert lines[place].startswith("x ") != broken
    assert (lines[place - 1].strip() == "x") == broken

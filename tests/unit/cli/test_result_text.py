"""A result for people: the same text at every width of the terminal."""

from __future__ import annotations

import re

import pytest
from console_helpers import a_console, plain, text_of

import daedal
from daedal.cli.output import show


@pytest.mark.parametrize("width", [60, 80])
def test_a_narrow_terminal_breaks_lines_between_words(width: int) -> None:
    result = daedal.maximize("onemax:n=30", algorithm="umda", popsize=20, seed=1, max_generations=2)

    def shown(columns: int) -> str:
        console = a_console(kind="xterm", width=columns)
        show(result, console)
        return plain(text_of(console))

    assert max(map(len, shown(width).splitlines())) <= width
    assert re.sub(r"\s+", " ", shown(width)) == re.sub(r"\s+", " ", shown(120))

"""What a user's file does is told in a sentence, whatever it raises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import daedal
from daedal.searches.presets import find_algorithm
from daedal.settings.plugins import load, place_in_file

FILES = {
    "def __getattr__(name): raise RuntimeError('boom')": "RuntimeError: boom",
    "class Own(BaseException): pass\nraise Own('base')": "Own: base",
    "class Mute(Exception):\n    def __str__(self): raise KeyError\nraise Mute": "Mute",
    "raise GeneratorExit": "GeneratorExit",
    "raise SystemExit(3)": "SystemExit: 3",
    "assert False": "AssertionError",
    "def again(): again()\nagain()": "RecursionError",
    "def f(:": "SyntaxError",
}


@pytest.mark.parametrize("text", FILES)
def test_a_file_that_cannot_be_used_is_a_value_error(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(ValueError, match=FILES[text]) as refused:
        load(f"{file}:x")
    assert str(file) in str(refused.value)


def test_links_in_a_circle_are_no_file(tmp_path: Path) -> None:
    (tmp_path / "mine.py").symlink_to("mine.py")
    (tmp_path / "folder").symlink_to("folder")
    for path in ("mine.py", "folder/mine.py"):
        with pytest.raises(ValueError, match="no such file"):
            load(f"{tmp_path / path}:x")


MINE = """
class Shy:
    def __repr__(self): raise RuntimeError("repr")

class Odd:
    def __getattribute__(self, name): raise RuntimeError("attribute")

shy, odd = Shy(), Odd()

def ours(function):
    function(None)

async def search(f):
    return {}["nothing"]
"""


def raised_by(call: Callable[[], object]) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011  of any class
        call()
    return caught.value


def test_who_raised_is_known(tmp_path: Path) -> None:
    """The file, or what it called; but not daedal, called from the file or not."""
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    for name, line in {"shy": 3, "odd": 6}.items():
        assert place_in_file(raised_by(lambda name=name: find_algorithm(f"{file}:{name}"))) == f"{file}, line {line}"
    search = f"{file}:search"
    assert place_in_file(raised_by(lambda: daedal.maximize("onemax:n=3", algorithm=search))) == f"{file}, line 14"
    assert place_in_file(raised_by(lambda: load(f"{file}:ours")(find_algorithm))) is None
    assert place_in_file(raised_by(lambda: find_algorithm("no such"))) is None

"""What is wrong with the words of a command line."""

from __future__ import annotations

import sys

import pytest

from daedal.cli import main


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["solv", "onemax:n=9"], ["'solve'", "daedal --help"]),
        (["solve", "onemax:n=9", "--max-evaluations", "2k"], ["--max-evaluations", "2k", "daedal solve --help"]),
        (["solve", "onemax:n=9", "--nothing"], ["--nothing", "daedal solve --help"]),
        (["report", "rnu.npz"], ["rnu.npz"]),
    ],
)
def test_an_error_says_what_came_and_whose_help_tells_more(
    words: list[str], says: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["daedal", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert all(word in said for word in says)

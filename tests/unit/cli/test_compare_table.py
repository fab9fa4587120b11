"""The table of a comparison, and what stands above and below it."""

from __future__ import annotations

import io

import pytest
from report_helpers import full_result
from rich.console import Console

from daedal.cli import compare
from daedal.cli.compare import _show


def test_a_population_size_is_said_of_those_that_have_one(capsys: pytest.CaptureFixture[str]) -> None:
    sized, other = full_result(popsize=40), full_result(popsize=None)
    _show("ones", {"umda": [sized], "climber": [other]})
    assert "popsize 40 (umda)" in capsys.readouterr().err
    _show("ones", {"umda": [sized]})
    assert "popsize 40, " in capsys.readouterr().err


def test_means_are_called_so_and_short_times_have_digits(capsys: pytest.CaptureFixture[str]) -> None:
    _show("ones", {"umda": [full_result(cpu_seconds=0.0037), full_result(cpu_seconds=0.0037)]})
    _, head, line = capsys.readouterr().err.splitlines()
    assert "  mean best  " in head
    assert " 0.0037 " in line


@pytest.mark.parametrize(("success", "shown"), [(None, ["runs", "2"]), (False, ["solved", "0/2"])])
def test_what_nobody_can_judge_is_not_called_solved(
    success: bool | None, shown: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    _show("ones", {"umda": [full_result(success=success)] * 2})
    _, head, line = capsys.readouterr().err.splitlines()
    assert [head.split()[1], line.split()[1]] == shown


def test_a_narrow_terminal_says_what_it_has_no_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, color_system=None, width=52)
    monkeypatch.setattr(compare, "standard_error", lambda: console)
    _show("ones", {"umda": [full_result()]})
    *_, last = written.getvalue().splitlines()
    assert last == "A wider terminal has more: CPU s, CPU us/eval."

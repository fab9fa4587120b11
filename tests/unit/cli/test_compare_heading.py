"""What stands above the table of a comparison."""

from __future__ import annotations

import pytest
from report_helpers import full_result

from daedal.cli.compare import _show


def test_a_population_size_is_said_of_those_that_have_one(capsys: pytest.CaptureFixture[str]) -> None:
    sized, other = full_result(popsize=40), full_result(popsize=None)
    _show("ones", {"umda": [sized], "climber": [other]})
    assert "popsize 40 (umda)" in capsys.readouterr().err
    _show("ones", {"umda": [sized]})
    assert "popsize 40, " in capsys.readouterr().err

"""Every example in a docstring runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import daedal

MODULES = ["daedal", *sorted(found.name for found in pkgutil.walk_packages(daedal.__path__, "daedal."))]


def test_modules_of_all_levels_are_visited() -> None:
    assert {"daedal.engine", "daedal.searches.eda", "daedal.models.dae", "daedal.cli.solve"} <= set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = importlib.import_module(name)
    result = doctest.testmod(module)
    assert result.failed == 0, capsys.readouterr().out


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    examples = sum(len(test.examples) for name in MODULES for test in finder.find(importlib.import_module(name)))
    assert examples >= 60

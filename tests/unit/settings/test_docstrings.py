"""What docstrings say of parameters."""

from __future__ import annotations

import re

import pytest

import daedal
from daedal.settings.parameters import parameter_texts, parameters


class Base:
    """First.

    Parameters
    ----------
    kept, changed
        Of the
        base.
    """

    def __init__(self, kept: int, changed: int) -> None:
        pass


class Heir(Base):
    """Second.

    Parameters
    ----------
    changed : int, optional
        Of the heir.

        And more.
    **others
        Whatever.

    Notes
    -----
    kept
        Nothing of this counts.
    """


def test_names_share_a_text_and_heirs_say_what_is_new() -> None:
    assert parameter_texts(Base) == {"kept": "Of the base.", "changed": "Of the base."}
    assert parameter_texts(Heir) == {"kept": "Of the base.", "changed": "Of the heir. And more.", "others": "Whatever."}
    assert parameters(Heir)["changed"].meaning == "Of the heir. And more."


@pytest.mark.parametrize("doc", [None, "", "One line.", "Parameters\n----------", "Parameters\n----------\nx"])
def test_docstrings_that_say_nothing(doc: str | None) -> None:
    def function(x: int) -> None:
        pass

    function.__doc__ = doc
    assert parameter_texts(function).get("x", "") == ""
    assert parameters(function)["x"].meaning == ""


@pytest.mark.parametrize("name", list(daedal.algorithms()))
def test_every_setting_of_every_algorithm_is_described(name: str) -> None:
    for parameter in daedal.algorithms()[name].parameters().values():
        assert parameter.meaning, parameter.name
        assert not {"default_popsize", "Restarts"} & set(re.findall(r"\w+", parameter.meaning)), parameter.name


def test_one_text_for_two_settings_is_about_both() -> None:
    settings = daedal.algorithms()["dae"].parameters()
    assert settings["biases"].meaning != settings["init_scale"].meaning

"""The command that makes a run again, as a shell reads it."""

from __future__ import annotations

import subprocess

import pytest
from console_helpers import a_console, text_of

from daedal.cli.again import quoted, with_options, write_command

WORDS = [
    "solve",
    "my file.py:f",
    "--name",
    "it's",
    "--max-seconds",
    "20",
    "--by-row",
    "--set",
    "a=b;c",
    "$HOME :smile:",
    "--seed",
    "1",
]


def read_by_a_shell(text: str) -> list[str]:
    done = subprocess.run(["bash", "-c", f"printf '%s\\0' {text}"], capture_output=True, check=True, timeout=60)
    return done.stdout.decode().split("\0")[:-1]


@pytest.mark.parametrize(
    "word", ["plain", "two words", "it's", '$HOME `x` \\ "q"', "bell\a", "\x1b[31m\n'\\n", "ü\u202e"]
)
def test_a_shell_reads_what_was_quoted_and_a_terminal_obeys_nothing_in_it(word: str) -> None:
    assert read_by_a_shell(quoted(word)) == [word]
    assert quoted(word).isprintable()


def test_options_come_last_but_before_what_can_be_none() -> None:
    assert with_options(["solve", "x"], ["--seed", "1"]) == ["solve", "x", "--seed", "1"]
    assert with_options(["solve", "--", "-x"], ["--seed", "1"]) == ["solve", "--seed", "1", "--", "-x"]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_on_a_terminal_it_is_broken_between_words_where_a_shell_joins_it(width: int) -> None:
    console = a_console(kind="xterm", width=width)
    write_command(console, "again   ", WORDS)
    text = text_of(console)
    assert all(len(line) <= width for line in text.splitlines())
    assert text.startswith("again   daedal solve ")
    assert read_by_a_shell(text.removeprefix("again")) == ["daedal", *WORDS]
    assert any("--max-seconds 20" in line for line in text.splitlines())


def test_elsewhere_it_is_one_line() -> None:
    console = a_console(width=40)
    write_command(console, "again   ", WORDS)
    assert text_of(console).count("\n") == 1

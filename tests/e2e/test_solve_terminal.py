"""A run on a real terminal: that it moves, what is left of it, what objectives print meanwhile, narrow terminals."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from cli_helpers import Cli
from terminal_helpers import ended_when, left_of, lines_of, on_a_terminal

from daedal.cli.app import COMMANDS

WAITS = """
import pathlib
import time

HERE = pathlib.Path(__file__).parent
calls = 0


def wait():
    while not (HERE / "go").exists():
        time.sleep(0.01)


def row(x):
    global calls
    calls += 1
    time.sleep(0.2)  # longer than answers are gathered
    if calls > 3:
        wait()
    return int(x.sum())


def batch(x):
    wait()
    return x.sum(axis=1)


def prints(x):
    import os
    print(f"@{len(x)} rows@")
    os.write(2, b"@from C@\\n")
    os.system("echo @from a child@")
    return x.sum(axis=1)


def fails(x):
    raise RuntimeError("this is what is wrong")
"""
HOW = ("--n", 12, "--algorithm", "umda", "--popsize", 10, "--max-generations", 2, "--seed", 1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(WAITS)
    return tmp_path


@pytest.mark.parametrize(
    ("function", "words", "says"),
    [("row", ("--by-row",), "3 of 10 rows of this batch"), ("batch", (), "0 of 10 rows of this batch")],
)
def test_it_moves_while_the_first_batch_is_under_way(
    folder: Path, function: str, words: tuple[str, ...], says: str
) -> None:
    """The objective waits until three different pictures of the first batch were seen."""
    seen: set[str] = set()

    def react(shown: str, _: object) -> None:
        seen.update(re.findall(rf"(\S+)(?:\x1b\[0m)? {says}", shown))
        if len(seen) >= 3:
            (folder / "go").touch()

    code, shown = on_a_terminal(folder, "solve", f"mine.py:{function}", *HOW, *words, react=react)
    assert code == 0, shown
    assert len(seen) >= 3
    left = left_of(shown)
    assert any(line.startswith("stop    The largest number of generations was reached") for line in left)
    assert not any("rows of this batch" in line for line in left)


def test_with_workers_too_the_rows_of_the_first_batch_are_counted(folder: Path) -> None:
    def react(shown: str, _: object) -> None:
        if re.search("[1-9] of 10 rows of this batch", shown):
            (folder / "go").touch()

    words = ("solve", "mine.py:row", *HOW, "--by-row", "--workers", 2)
    code, shown = on_a_terminal(folder, *words, react=react)
    assert code == 0, shown
    assert (folder / "go").exists()


def test_what_an_objective_prints_stands_above_the_picture_in_whole_lines(folder: Path) -> None:
    code, shown = on_a_terminal(folder, "solve", "mine.py:prints", *HOW)
    assert code == 0, shown
    printed = [line for line in lines_of(shown) if "@" in line]
    assert [line for line in printed if not re.fullmatch("@([0-9]+ rows|from C|from a child)@", line)] == []
    assert len(printed) == 3 * printed.count("@from C@") >= 9


def test_bad_input_has_its_one_line_alone(folder: Path) -> None:
    code, shown = on_a_terminal(folder, "solve", "mine.py:fails", *HOW, columns=300)
    assert code == 2
    (line,) = filter(None, left_of(shown))
    assert line.startswith("error: ")
    assert "this is what is wrong" in line


def test_a_request_to_end_leaves_the_terminal_as_it_was(folder: Path) -> None:
    code, shown = on_a_terminal(folder, "solve", "mine.py:batch", *HOW, react=ended_when("rows of this batch"))
    assert code == 128 + 15, shown
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")  # the cursor is shown again


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_terminals_without_colours_or_that_cannot_move(folder: Path, variables: dict[str, str]) -> None:
    words = ("solve", "onemax:n=12", "--algorithm", "umda", "--popsize", 20, "--seed", 1)
    code, shown = on_a_terminal(folder, *words, variables=variables)
    assert code == 0
    assert not re.search(r"\x1b\[[0-9;]*[34]\d[;m]", shown)
    assert "\x1b" not in shown or "TERM" not in variables
    assert "solved, fitness 12 of 12" in " ".join(left_of(shown))


# The command that makes a run again


def test_the_command_that_is_shown_makes_the_run_again(cli: Cli, folder: Path) -> None:
    words = ("solve", "trap:k=4,n=20", "--max-evaluations", 300, "--set", "min_batch=2")
    first = cli(*words, cwd=folder)
    assert first.returncode == 0
    again = first.stderr.splitlines()[-1]
    assert re.fullmatch(r"again   daedal solve trap:k=4,n=20 --max-evaluations 300 --set min_batch=2 --seed \d+", again)
    second = cli(*again.split()[2:], cwd=folder)

    def found(done: subprocess.CompletedProcess[str]) -> list[str]:
        return [re.sub(r"[\d.]+ s CPU", "", line) for line in done.stderr.splitlines()]

    assert found(first) == found(second)


def test_a_checkpoint_is_replaced_by_the_same_run_and_one_that_goes_on_is_not_begun_again(
    cli: Cli, folder: Path
) -> None:
    words = ("solve", "onemax:n=12", "-a", "umda", "--popsize", 20, "--checkpoint", "run.ckpt", "--seed", 3)
    done = cli(*words, cwd=folder)
    assert done.stderr.splitlines()[-1].endswith("--checkpoint run.ckpt --seed 3 --force")
    assert cli(*done.stderr.splitlines()[-1].split()[2:], cwd=folder).returncode == 0
    assert "again" not in cli("resume", "run.ckpt", cwd=folder).stderr  # no words of its own make it
    assert "again" not in cli(*words, "--json", "--force", cwd=folder).stderr


# Narrow terminals: where a line is broken, it is broken between words


def words_at(folder: Path, *words: str, width: int) -> list[str]:
    code, shown = on_a_terminal(folder, *words, columns=width, stdout=True)
    assert code == 0, shown
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()
    assert [line for line in lines if len(line) > width] == []
    return " ".join(lines).split()


GROUPS = {"study": ("init", "run", "status", "table", "plot", "merge", "export"), "instance": ("nk",)}
HELP = [(), *((name,) for name in COMMANDS), *((group, name) for group, names in GROUPS.items() for name in names)]


@pytest.mark.parametrize("command", HELP, ids=" ".join)
def test_help_has_the_same_words_at_every_width(folder: Path, command: tuple[str, ...]) -> None:
    wide = words_at(folder, *command, "--help", width=120)
    assert wide[:2] == ["Usage:", "daedal"]
    assert not any("…" in word for word in wide)
    assert words_at(folder, *command, "--help", width=60) == words_at(folder, *command, "--help", width=80) == wide


@pytest.mark.parametrize(
    ("names", "shown"), [((), "neural-mix"), (("dae", "trap", "mkp"), "corruption")], ids=["all", "names"]
)
def test_lists_have_the_same_words_at_every_width(folder: Path, names: tuple[str, ...], shown: str) -> None:
    wide = words_at(folder, "list", *names, width=120)
    assert shown in wide
    for width in (60, 80):
        narrow = words_at(folder, "list", *names, width=width)
        assert sorted(narrow) == sorted(wide)  # a type may go on below, and what it means comes later


def test_the_list_fits_two_screens(folder: Path) -> None:
    code, shown = on_a_terminal(folder, "list", columns=80)
    assert (code, len(left_of(shown)) <= 48) == (0, True)


@pytest.mark.parametrize("width", [60, 80])
def test_results_have_the_same_words_at_every_width(folder: Path, width: int) -> None:
    words = ("solve", "onemax:n=30", "-a", "umda", "--popsize", "20", "--max-generations", "2", "--seed", "1")

    def told(columns: int) -> list[str]:
        code, shown = on_a_terminal(folder, *words, columns=columns)
        assert code == 0
        left = left_of(shown)
        assert [line for line in left if len(line) > columns] == []
        result = [line.strip().removesuffix("\\") for line in left[left.index("") :]]
        return [word for word in " ".join(result).split() if not re.fullmatch(r"[\d.]+", word)]

    assert told(width) == told(120)

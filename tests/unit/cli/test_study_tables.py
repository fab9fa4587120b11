"""Tables on a terminal: they fit it, and numbers are in line."""

from __future__ import annotations

import io
import re

import pytest
from budget_helpers import some_rows
from rich.console import Console, RenderableType
from table_helpers import CLIMBERS, STUDY, climbing_runs, failed, one_row, special_rows, special_runs

from daedal.cli.study_tables import budget_table, rich_table, sizes_table, status_table
from daedal.studies.analysis import analyse
from daedal.studies.paper import published
from daedal.studies.plan import CellStatus, Status
from daedal.studies.spec import StudyProblem
from daedal.studies.store import Run
from daedal.studies.tables import NONE, OPEN


def shown(what: RenderableType, width: int = 80) -> str:
    file = io.StringIO()
    Console(file=file, width=width, highlight=False).print(what)
    return file.getvalue()


def line_of(text: str, *words: str) -> str:
    """Find the only line with the words."""
    (found,) = [line for line in text.splitlines() if all(word in line for word in words)]
    return " ".join(found.split())


@pytest.mark.parametrize("width", [70, 80, 100, 140, 220])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    for table in (rich_table(special_rows(), published=published()), sizes_table(STUDY, special_runs())):
        assert max(map(len, shown(table, width).splitlines())) <= width


@pytest.mark.parametrize("width", [60, 80, 200])
def test_each_problem_is_named_once_and_its_seed_is_seen(width: int) -> None:
    text = shown(rich_table(special_rows()), width)
    for name in ("trap:k=4,n=20", "nk:n=30,k=4,i=1", "(nk:n=30,k=4,seed=1)"):
        assert text.count(name) == 1
    assert "(nk:n=30,k=4,seed=1)" in shown(rich_table([one_row(problem=STUDY.problems[1])]), width)  # with one line


def test_a_narrow_terminal_has_a_line_for_each_level_and_the_paper_below() -> None:
    lines = [" ".join(line.split()) for line in shown(rich_table(special_rows(), published=published())).splitlines()]
    start = lines.index("trap:k=4,n=20")
    assert lines[start + 1 : start + 9] == [
        "DAE-EDA ≥ 50 % 1,000 12,004 ± 3 0.021 ± <0.001",
        "1 failed",
        "paper 2,550 ± 1,150 18 ± 6.9",
        "again 3/4 13,002 ± 1 0.025 ± <0.001",
        "≥ 90 % 1,000 12,004 ± 3 0.021 ± <0.001",
        "1 failed",
        "paper 4,450 ± 1,359 21 ± 9.2",
        "again 3/4 13,002 ± 1 0.025 ± <0.001",
    ]
    assert lines[start + 9 : start + 14] == [
        "BOA ≥ 50 % 100 1,004 ± 3 … 1,283 ± 34 …",
        "paper 1,850* ± 382 117 ± 26",
        "again … …",
        "≥ 90 % … 8/9 at 100 …",
        "paper 1,850* ± 382 117 ± 26",
    ]


def test_levels_are_side_by_side_where_there_is_room() -> None:
    text = shown(rich_table(special_rows(confirm=0)), 120)
    assert re.match(r" +─+ ≥ 50 % of runs solved ─+  ─+ ≥ 90 % of runs solved ─+$", text.splitlines()[0])
    assert line_of(text, "trap").startswith("trap:k=4,n=20 DAE-EDA 1,000 12,004 ± 3 0.021 ± <0.001 1,000 12,004 ± 3")
    assert line_of(text, "nk:n=30,k=4,i=1") == " ".join(["nk:n=30,k=4,i=1", "DAE-EDA", *[NONE] * 6])
    assert "of runs solved" not in shown(rich_table(special_rows(confirm=0), width=80), 120)  # the width that is given
    # all on one line where there is much room
    text = shown(rich_table([one_row(star=True)], published=published()), 160)
    level = "1,000 57,750* ± 18,250 {} 0.03 ± 0.004 {}"
    first, second = level.format("2,550 ± 1,150", "18 ± 6.9"), level.format("4,450 ± 1,359", "21 ± 9.2")
    assert line_of(text, "trap") == f"trap:k=4,n=20 DAE-EDA {first} {second}"


def test_numbers_stand_below_each_other() -> None:
    rows = [one_row(1234567, 1297, star=True), one_row(12, 0.03, name="BOA")]
    lines = [line for line in shown(rich_table(rows, legend=False)).splitlines() if "±" in line]
    assert len({tuple(found.start() for found in re.finditer("±", line)) for line in lines}) == 1


def test_the_star_and_its_mean_are_bold() -> None:
    file = io.StringIO()
    console = Console(file=file, width=80, force_terminal=True, color_system="standard", legacy_windows=False)
    console.print(rich_table([one_row(star=True)], legend=False))
    assert re.search(r"\x1b\[1m *57,750\*\x1b\[0m ± 18,250", file.getvalue())


@pytest.mark.parametrize("width", [60, 80])
def test_names_that_are_too_long_have_lines_of_their_own_and_nothing_is_cut(width: int) -> None:
    long = StudyProblem(name="problem " * 20, problem="trap:k=4,n=20")
    text = shown(rich_table([one_row(problem=long, name="algorithm " * 20)], legend=False), width)
    assert all(len(line) <= width for line in text.splitlines())
    assert text.count("57,750 ± 18,250") == 2
    words = " ".join(text.split())
    assert ("problem " * 20).strip() in words
    assert f"{'algorithm ' * 20}≥ 50 %" in words
    assert OPEN not in text
    assert "57,750 ± 18,250" in " ".join(shown(rich_table([one_row()], legend=False), 30).split())  # far too narrow


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_status_of_a_study_shows_every_name_and_number_whole(width: int) -> None:
    names = [f"{name} of a name that is rather long" for name in ("one", "two", "three")]
    cells = [
        CellStatus(problem=problem, algorithm=names[2], popsize=size, done=10, failed=0, killed=0, solved=None, left=5)
        for problem in names[:2]
        for size in (1000, 2000)
    ]
    text = shown(status_table(Status(cells=tuple(cells), errors={}, totals={})), width)
    assert all(len(line) <= width for line in text.splitlines())
    words = " ".join(text.split())
    assert all(name in words for name in names)
    assert [words.count(f"{size} 10 0 5 ?") for size in ("1,000", "2,000")] == [2, 2]


@pytest.mark.parametrize("width", [80, 120, 200])
def test_without_unicode_all_stays_in_line(width: int) -> None:
    def lines(encoding: str) -> list[str]:
        raw = io.BytesIO()
        file = io.TextIOWrapper(raw, encoding=encoding)
        Console(file=file, width=width, highlight=False).print(rich_table(special_rows(), published=published()))
        file.flush()
        return raw.getvalue().decode(encoding).splitlines()

    ascii_lines, lines_as_they_are = lines("ascii"), lines("utf-8")
    assert [len(line) for line in ascii_lines] == [len(line) for line in lines_as_they_are]
    assert any("12,004 +-3" in " ".join(line.split()) for line in ascii_lines)
    assert any("(nk:n=30,k=4,seed=1)+" in line for line in ascii_lines)
    for sign in "-?+":
        assert sum(line.startswith(f"{sign} ") for line in ascii_lines) == 1  # in the legend


def test_names_are_shown_as_they_are() -> None:
    text = shown(rich_table([one_row(name=name) for name in ("[red]x[/red]", "a b", "a  b")]), 200)
    assert text.count("[red]x[/red]") == 1
    assert text.count("a b") == 2  # two algorithms, though their names look the same


def test_only_some_rows_or_none_may_have_published_numbers() -> None:
    rows = [one_row(name="mine"), one_row()]
    assert shown(rich_table(rows, published=published())).count("2,550 ± 1,150") == 1
    assert "paper" not in shown(rich_table(rows[:1], published=published()), 200)
    assert shown(rich_table([], legend=False), 200).splitlines()[1].split()[:2] == ["Problem", "Algorithm"]
    assert "popsize" in shown(sizes_table(STUDY, {}), 120)


def test_sizes_have_a_line_each() -> None:
    text = shown(sizes_table(STUDY, special_runs()), 120)
    assert line_of(text, "trap") == "trap:k=4,n=20 DAE-EDA 100 2/10 19.2 ± 0.42 1,504 ± 3 0.01 ± <0.001"
    assert line_of(text, "1,000", "9/10") == "1,000 9/10 1 20 ± 0 12,004 ± 3 0.021 ± <0.001"
    assert line_of(text, "BOA") == "BOA 100 8/9 19.8889 ± 0.33 1,004 ± 3 1,283 ± 34"
    assert len([line for line in text.splitlines() if "±" in line]) == 5
    assert "trap:k=4,n=20, DAE-EDA" in shown(sizes_table(STUDY, special_runs()), 70)  # a heading


def test_sizes_whose_runs_cannot_be_judged_or_have_all_failed() -> None:
    key = STUDY.cell(*STUDY.pairs()[0], 100).key
    run = Run(seed=0, status="done", success=None, best=3.5, evaluations_to_best=10, cpu_seconds_to_best=0.5)
    for runs, numbers in (
        ({0: run} | failed(1), "?/2 1 3.5 ± 0 10 ± 0 0.5 ± 0.0"),
        (failed(0, 1), f"0/2 2 {NONE} {NONE} {NONE}"),
    ):
        text = shown(sizes_table(STUDY, {key: runs}), 120)
        assert line_of(text, "trap") == f"trap:k=4,n=20 DAE-EDA 100 {numbers}"


def test_an_algorithm_without_a_population_has_a_blank_for_its_size() -> None:
    text = shown(rich_table(analyse(CLIMBERS, climbing_runs()), legend=False), 120)
    assert line_of(text, "climber") == f"climber 904* ± 3 0.52* ± 0.015 {NONE} {NONE} {NONE}"
    under_way = shown(rich_table(analyse(CLIMBERS, climbing_runs(made=8)), legend=False), 120)
    assert line_of(under_way, "climber") == "climber 904 ± 2 … 0.52 ± 0.012 … … 7/8 …"
    sizes = shown(sizes_table(CLIMBERS, climbing_runs()), 120)
    assert line_of(sizes, "DAE-EDA").split()[2:4] == ["100", "10/10"]
    assert line_of(sizes, "climber").split()[1] == "7/10"


# Budgets


@pytest.mark.parametrize("width", [60, 70, 80, 100, 120, 200])
def test_a_table_of_budgets_fits_and_says_what_is_left_out(width: int) -> None:
    text = shown(budget_table(some_rows()), width)
    table = text.split("\n\nMean ")[0].splitlines()
    assert max(map(len, table)) <= width
    columns = ["popsize", "batches", "evaluations", "CPU s", "median"]
    head = next(line for line in table if "rank" in line)
    there = [name for name in columns if name in head]
    assert there == columns[len(columns) - len(there) :]  # what is least needed goes first
    missing = columns[: len(columns) - len(there)]
    assert (f"A wider terminal has more: {', '.join(missing)}." in " ".join(text.split())) == bool(missing)
    assert len(missing) == 0 or width < 100
    assert " ".join(line_of("\n".join(table), "umda", "13.9*").split()).startswith("1,000 umda")
    assert text.count("cost") == text.count("all problems") == 1


def test_a_table_of_budgets_without_a_legend_is_the_table() -> None:
    assert "ERT:" not in shown(budget_table(some_rows(), legend=False), 80)

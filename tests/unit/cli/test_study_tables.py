"""Tables on a terminal: they fit it, and numbers are aligned."""

from __future__ import annotations

import io
import re

import pytest
from budget_helpers import STUDY as BUDGETS
from budget_helpers import some_runs
from rich.console import Console, RenderableType
from table_helpers import STUDY, one_row, special_rows, special_runs

from daedal.cli.study_tables import Laid, status_table
from daedal.studies.plan import CellStatus, Status
from daedal.studies.snapshot import Snapshot
from daedal.studies.tables import LEVELS, StudyTable

SPECIAL = StudyTable(rows=special_rows(), columns=LEVELS)
SIZES = StudyTable.of(Snapshot(study=STUDY, runs=special_runs()), sizes=True)
OF_BUDGETS = StudyTable.of(Snapshot(study=BUDGETS, runs=some_runs()))


def shown(what: StudyTable | RenderableType, width: int = 80) -> str:
    file = io.StringIO()
    given = Laid(what.sheet()) if isinstance(what, StudyTable) else what
    Console(file=file, width=width, highlight=False).print(given)
    return file.getvalue()


def line_of(text: str, *words: str) -> str:
    """Find the only line with the words."""
    (found,) = [line for line in text.splitlines() if all(word in line for word in words)]
    return " ".join(found.split())


@pytest.mark.parametrize("width", [70, 80, 100, 140, 220])
@pytest.mark.parametrize("table", [SPECIAL, SIZES, OF_BUDGETS], ids=["levels", "sizes", "budgets"])
def test_a_table_fits_and_says_what_is_left_out(table: StudyTable, width: int) -> None:
    text = shown(table, width)
    assert max(map(len, text.splitlines())) <= width
    titles = [heading.title for heading in table.sheet().columns]
    head = next(line for line in text.splitlines() if "Algorithm" in line)
    _, _, note = " ".join(text.split()).partition("A wider terminal has more: ")
    left_out = note.rstrip(".").split(", ") if note else []
    assert sorted([*re.split(r"  +", head.strip()), *left_out]) == sorted(titles)
    assert {heading.title for heading in table.sheet().columns if not heading.spare} <= set(titles) - set(left_out)
    for name, spec in (group.title for group in table.sheet().groups):
        assert text.count(f"{name}  {spec}".rstrip()) == 1


def test_a_table_of_levels_at_80_columns() -> None:
    text = shown(SPECIAL)
    start = text.splitlines().index("trap:k=4,n=20")
    assert [" ".join(line.split()) for line in text.splitlines()[start + 1 : start + 5]] == [
        "≥ 50 % DAE-EDA 1,000 1 12,004 ± 3 2,550 ± 1,150 3/4: 13,002",
        "BOA 100 1,004 ± 3 … 1,850* ± 382 …",
        "≥ 90 % DAE-EDA 1,000 1 12,004 ± 3 4,450 ± 1,359 3/4: 13,002",
        "BOA … 8/9 at 100 1,850* ± 382",
    ]
    assert "nk:n=30,k=4,i=1  (nk:n=30,k=4,seed=1)†" in text


def test_numbers_are_aligned_and_the_star_and_its_mean_are_bold() -> None:
    table = StudyTable(rows=[one_row(1234567, 1297, star=True), one_row(12, 0.03, name="BOA")], columns=LEVELS)
    lines = [line for line in shown(table, 120).splitlines() if "±" in line and "Mean" not in line]
    assert len({tuple(found.start() for found in re.finditer("±", line)) for line in lines}) == 1
    file = io.StringIO()
    console = Console(file=file, width=80, force_terminal=True, color_system="standard", legacy_windows=False)
    console.print(Laid(StudyTable(rows=[one_row(star=True)], columns=LEVELS).sheet()))
    assert re.search(r"\x1b\[1m *57,750\*\x1b\[0m ± 18,250", file.getvalue())


def test_long_names_get_shorter_and_numbers_never_do() -> None:
    table = StudyTable(rows=[one_row(name="algorithm " * 20), one_row(name="[red]x[/red]")], columns=LEVELS)
    text = shown(table, 60)
    assert all(len(line) <= 60 for line in text.splitlines())
    assert text.count("57,750 ± 18,250") == 2
    assert "algorithm algor" in text
    assert "…" in text
    assert "[red]x[/red]" in shown(table, 250)
    assert "57,750 ± 18,250" in " ".join(shown(table, 30).split())  # far too narrow


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_status_of_a_study(width: int) -> None:
    cells = [
        CellStatus(problem=problem, algorithm="umda", popsize=size, done=10, failed=0, killed=0, solved=None, left=5)
        for problem in ("a problem with a name that is rather long", "two")
        for size in (1000, 2000)
    ]
    text = shown(status_table(Status(cells=tuple(cells), errors={}, totals={})), width)
    assert all(len(line) <= width for line in text.splitlines())
    assert line_of(text, "rather") == "a problem with a name that is rather long"
    assert [" ".join(text.split()).count(f"umda {size} 10 0 5 ?") for size in ("1,000", "2,000")] == [2, 2]


@pytest.mark.parametrize("width", [80, 200])
def test_without_unicode_all_stays_aligned(width: int) -> None:
    def lines(encoding: str) -> list[str]:
        raw = io.BytesIO()
        file = io.TextIOWrapper(raw, encoding=encoding)
        Console(file=file, width=width, highlight=False).print(Laid(SPECIAL.sheet()))
        file.flush()
        return raw.getvalue().decode(encoding).splitlines()

    ascii_lines, lines_as_they_are = lines("ascii"), lines("utf-8")
    assert [len(line) for line in ascii_lines] == [len(line) for line in lines_as_they_are]
    assert any("12,004 +-3" in " ".join(line.split()) for line in ascii_lines)
    assert any("(nk:n=30,k=4,seed=1)+" in line for line in ascii_lines)

"""The table of a study with budgets, in each of its formats, from runs made by hand."""

from __future__ import annotations

import json
import re

import pytest
from budget_helpers import STUDY, TRAP, UMDA, Runs, runs_of, some_rows, some_runs

from daedal.studies.budgets import BudgetRow, analyse_budgets
from daedal.studies.spec import Study
from daedal.studies.store import Run
from daedal.studies.tables import (
    BUDGET_COLUMNS,
    NONE,
    budget_latex,
    budget_legend,
    budget_markdown,
    budget_sheet,
    export,
    flat_budgets,
)

AWKWARD = "a_b & 50 % | *x* $y$ {z}"


def cut_runs() -> Runs:
    """Leave out a run, and let another fail."""
    runs = some_runs()
    of_cell = runs[STUDY.cell(TRAP, UMDA, None, 1000).key]
    del of_cell[7]
    of_cell[6] = Run(6, "failed", False, error="oh")
    return runs


def table_of(text: str) -> list[list[str]]:
    """Give the cells of a Markdown table, line by line."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_markdown_has_a_line_for_each_problem_budget_and_algorithm_and_mean_ranks_below() -> None:
    header, _, *body = table_of(budget_markdown(some_rows()))
    assert header == [
        *("Problem", "budget", "Algorithm", "popsize", "mean best", "median", "rank", "solved", "ERT", "CPU s"),
        *("evaluations", "batches"),
    ]
    assert body[:4] == [
        ["trap:k=4,n=20", "100", "umda", "", "3.5 ± 2.4", "3.5", "1.5", "0/8", NONE, "0.5", "104", "4"],
        ["", "", "PBIL 50", "50", "3.5 ± 2.4", "3.5", "1.5", "0/8", NONE, "0.5", "104", "4"],
        ["", "1,000", "umda", "", r"**13.9**\* ± 2.8", "13.9", "1", "3/8", "2,409", "0.5", "904", "4"],
        ["", "", "PBIL 50", "50", "3.5 ± 2.4", "3.5", "2", "0/8", NONE, "0.5", "1,004", "4"],
    ]
    assert body[4][0] == "cost (onemax:n=20)"
    assert [(line[0], line[1], line[2], line[6]) for line in body[8:]] == [
        ("all problems (mean ranks)", "100", "umda", "1.75"),
        ("", "", "PBIL 50", "1.25"),
        ("", "1,000", "umda", "1.5"),
        ("", "", "PBIL 50", "1.5"),
    ]
    assert {len(line) for line in body} == {len(header)}


def test_what_is_missing_or_failed_is_seen() -> None:
    rows = some_rows(cut_runs())
    header, _, *body = table_of(budget_markdown(rows))
    row = dict(zip(header, body[2], strict=True))
    assert (row["solved"], row["failed"], row["rank"]) == ("3/7 …", "1", "…")
    legend = " ".join(budget_legend(rows, "signed-rank", False))
    assert "not all runs are made yet" in legend
    assert "failed: these runs ended with an error" in legend
    assert "rank" not in legend.replace("has a rank", "").replace("signed-rank", "")
    assert "*" not in " ".join(budget_legend(some_rows({}), "signed-rank", False))
    empty = table_of(budget_markdown(some_rows({})))[2]
    assert empty[4:8] == ["…", "", "…", "0/0 …"]


def test_the_legend_explains_what_is_there_and_how_stars_were_found() -> None:
    plain = " ".join(budget_legend(some_rows(), "signed-rank", False))
    assert "over 8 runs" in plain
    assert "better than every other algorithm with this budget (pairwise Wilcoxon signed-rank tests, p < 0.01)" in plain
    assert "ERT: expected running time" in plain
    assert f"{NONE} no run has solved it." in plain
    for absent in ("failed", "not all runs", "can be significant"):
        assert absent not in plain
    assert "Mann-Whitney tests, p < 0.01, corrected by Holm's" in " ".join(
        budget_legend(some_rows(), "mann-whitney", True)
    )
    few = Study.from_dict({"problems": ["onemax:n=9"], "algorithms": ["umda", "pbil"], "budgets": [10], "runs": 3})
    rows = analyse_budgets(few, {cell.key: runs_of([1.0, 2.0, 3.0]) for cell in few.cells()})
    assert "With 3 runs no difference can be significant" in " ".join(budget_legend(rows, "signed-rank", False))


def test_without_an_optimum_there_is_no_expected_running_time() -> None:
    runs = some_runs()
    for of_cell in runs.values():
        for run in of_cell.values():
            run.success = None
    header, _, first, *_ = table_of(budget_markdown(some_rows(runs)))
    assert not {"ERT", "solved"} & set(header)
    assert not any("?" in cell for cell in first)
    assert "ERT" not in " ".join(budget_legend(some_rows(runs), "signed-rank", False))


def test_a_problem_without_an_optimum_beside_others_has_signs_that_are_explained() -> None:
    runs = some_runs()
    for run in next(iter(runs.values())).values():
        run.success = None
    text = budget_markdown(some_rows(runs))
    assert "?/8" in text
    assert "?, n/a: no optimum or target is known" in text
    assert "n/a" not in budget_markdown(some_rows())


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([1.0, 1.0], ("1", "0")),
        ([0.0012, 0.0015], ("0.00135", "0.00021")),
        ([1e-9, 3e-9], ("2e-09", "1.41421e-09")),
        ([1_000_000.0, 1_200_000.0], ("1,100,000", "141,421")),
        ([12.5, 14.5], ("13.5", "1.4")),
    ],
)
def test_values_have_as_many_digits_as_their_deviation_is_worth(values: list[float], shown: tuple[str, str]) -> None:
    (row, *_) = rows_of(values)
    sheet = budget_sheet([row])
    place = [column.title for column in sheet.columns].index("mean best")
    cell = sheet.groups[0].lines[0][place]
    assert (cell.text, cell.sd) == shown


def rows_of(values: list[float], name: str = "umda") -> list[BudgetRow]:
    algorithms = [{"name": name, "algorithm": "umda"}, "pbil"]
    problems = [{"name": name, "problem": "onemax:n=9"}]
    one = Study.from_dict({"problems": problems, "algorithms": algorithms, "budgets": [10], "runs": 2})
    return analyse_budgets(one, {cell.key: runs_of(values) for cell in one.cells()})


def test_latex_has_as_many_columns_in_each_line_whatever_the_names() -> None:
    for rows in (some_rows(), some_rows(cut_runs()), some_rows({}), rows_of([1.0, 2.0], AWKWARD)):
        text = budget_latex(rows)
        ((layout,),) = [
            re.findall(r"\\begin\{tabular\}\{(.*)\}$", line) for line in text.splitlines() if "{tabular}{" in line
        ]
        columns = len(layout.replace("@{}", ""))
        body = [line for line in text.splitlines() if line.endswith(r"\\")]
        for line in body:
            spans = sum(int(width) - 1 for width in re.findall(r"\\multicolumn\{(\d)\}", line))
            assert len(re.findall(r"(?<!\\)&", line)) + spans + 1 == columns
        braces = re.sub(r"[^{}]", "", re.sub(r"\\[\\{}]", "", text))
        while "{}" in braces:
            braces = braces.replace("{}", "")
        assert braces == ""
    assert r"& 1,000 & umda &  & \textbf{13.9*} & \,$\pm$2.8 & 13.9 & 1 & 3/8 & 2,409 &" in budget_latex(some_rows())


def test_flat_rows_hold_the_numbers_in_columns_that_do_not_depend_on_them() -> None:
    rows = some_rows()
    flat = flat_budgets(rows)
    assert [list(one) for one in flat] == [list(BUDGET_COLUMNS)] * 8
    third = flat[2]
    assert {name: third[name] for name in ("problem", "algorithm", "budget", "popsize", "runs", "solved", "rank")} == {
        "problem": "trap:k=4,n=20",
        "algorithm": "umda",
        "budget": 1000,
        "popsize": None,
        "runs": 8,
        "solved": 3,
        "rank": 1.0,
    }
    assert third["ert"] == rows[2].ert
    assert (third["best_median"], third["best_star"], third["best_p"]) == (13.9375, True, pytest.approx(2 / 2**8))
    written = json.loads(b"".join(export(flat, "json", BUDGET_COLUMNS)))
    assert written == flat
    empty = flat_budgets(some_rows({}))
    assert [list(one) for one in empty] == [list(BUDGET_COLUMNS)] * 8

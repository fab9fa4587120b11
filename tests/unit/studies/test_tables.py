"""The tables of studies, from runs made by hand: what readers and programs see, and the legend."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from budget_helpers import STUDY as BUDGET_STUDY
from budget_helpers import TRAP, UMDA, runs_of, some_runs
from table_helpers import CLIMBERS, NK, STUDY, climbing_runs, failed, one_row, special_rows, special_runs

from daedal.studies.analysis import Measure, Row, Test
from daedal.studies.plan import Runs, Unsettled
from daedal.studies.snapshot import Snapshot
from daedal.studies.spec import Study, StudyProblem
from daedal.studies.store import Run
from daedal.studies.tables import BUDGETS, LEVELS, StudyTable, problem_title
from daedal.studies.writers import NONE, OPEN


def of_rows(*rows: Row, test: Test = "signed-rank", holm: bool = False) -> StudyTable:
    return StudyTable(rows=rows, columns=LEVELS, test=test, holm=holm)


def special(*, confirm: int = 4) -> StudyTable:
    return of_rows(*special_rows(confirm=confirm))


def of_runs(study: Study, runs: Runs, *, sizes: bool = False, test: Test = "signed-rank") -> StudyTable:
    return StudyTable.of(Snapshot(study=study, runs=runs), sizes=sizes, test=test)


def budgets(runs: Runs | None = None) -> StudyTable:
    return of_runs(BUDGET_STUDY, some_runs() if runs is None else runs)


def legend(table: StudyTable) -> str:
    return "\n".join(table.sheet().legend)


def cells(table: StudyTable) -> list[list[str]]:
    """Return the cells of the Markdown table, line by line; all lines have as many."""
    lines = [line for line in table.markdown().splitlines() if line.startswith("|")]
    header, _, *body = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    assert {len(line) for line in body} <= {len(header)}
    return [header, *body]


def by_title(header: Sequence[str], line: Sequence[str]) -> dict[str, str]:
    return dict(zip(header, line, strict=True))


@pytest.mark.parametrize(
    ("name", "problem", "title"),
    [
        ("nk:n=30,k=4,i=1", "nk:n=30,k=4,seed=1", ("nk:n=30,k=4,i=1", "(nk:n=30,k=4,seed=1)")),
        ("trap:k=4,n=20", "trap:k=4,n=20", ("trap:k=4,n=20", "")),
        ("mine", "/some/where/score.py:f", ("mine", "(score.py:f)")),
        ("score.py:f", "some/where/score.py:f", ("score.py:f", "")),
        ("mine", "cmd:./score --of a/b", ("mine", "(cmd:./score --of a/b)")),
        ("two\n lines", "trap:k=4,n=20", ("two lines", "(trap:k=4,n=20)")),
    ],
)
def test_titles_say_what_a_problem_is_but_not_where_it_lies(name: str, problem: str, title: tuple[str, str]) -> None:
    assert problem_title(StudyProblem(name=name, problem=problem)) == title


# Levels


def test_a_table_of_levels_has_all_there_is_to_say() -> None:
    header, *body = cells(special())
    assert header == [
        *(
            "Problem",
            "solved",
            "Algorithm",
            "popsize",
            "failed",
            "evaluations",
            "paper",
            "CPU s",
            "paper CPU s",
            "again",
        ),
    ]
    ours, seconds = ("DAE-EDA", "1,000", "1", "12,004 ± 3"), r"0.021 ± \<0.001"
    assert body[:4] == [
        ["trap:k=4,n=20", "≥ 50 %", *ours, "2,550 ± 1,150", seconds, "18 ± 6.9", "3/4: 13,002"],
        ["", "", "BOA", "100", "", f"1,004 ± 3 {OPEN}", r"**1,850**\* ± 382", f"1,283 ± 34 {OPEN}", "117 ± 26", OPEN],
        ["", "≥ 90 %", *ours, "4,450 ± 1,359", seconds, "21 ± 9.2", "3/4: 13,002"],
        ["", "", "BOA", OPEN, "", "8/9 at 100", r"**1,850**\* ± 382", OPEN, "117 ± 26", ""],
    ]
    assert body[4][:5] == ["nk:n=30,k=4,i=1 (nk:n=30,k=4,seed=1)†", "≥ 50 %", "DAE-EDA", NONE, ""]
    assert "again" not in cells(special(confirm=0))[0]  # a column with nothing in it
    mine = cells(of_rows(one_row(name="mine")))
    assert mine == [["Problem", "solved", "Algorithm", "popsize", "evaluations", "CPU s"], mine[1]]


def test_seconds_have_sensible_digits() -> None:
    values = [0.0, 0.0004, 0.0034, 0.03, 0.3, 0.996, 1.24, 9.96, 34.4, 1297.2]
    texts = ["0.0", r"\<0.001", "0.0034", "0.03", "0.3", "1.0", "1.2", "10", "34", "1,297"]
    for seconds, text in zip(values, texts, strict=True):
        header, line = cells(of_rows(one_row(seconds=seconds, name="mine")))
        assert by_title(header, line)["CPU s"] == f"{text} ± 0.004"


def test_what_cannot_be_judged_is_not_called_unsolved() -> None:
    made = {seed: Run(seed=seed, status="done", success=None, best=1.0) for seed in STUDY.seeds}
    one = dataclasses.replace(STUDY, problems=STUDY.problems[:1], algorithms=STUDY.algorithms[:1])
    table = of_runs(one, {cell.key: made for cell in one.cells()})
    assert by_title(*cells(table)[:2])["popsize"] == "n/a"
    assert "n/a no optimum or target is known" in legend(table)
    assert NONE not in legend(table)
    assert next(table.records())["unsettled"] == "no optimum or target is known"


def test_failures_are_seen_though_no_size_is_chosen() -> None:
    one = dataclasses.replace(STUDY, problems=STUDY.problems[:1], algorithms=STUDY.algorithms[:1])
    table = of_runs(one, {cell.key: failed(*STUDY.seeds) for cell in one.cells()})
    header, line, _ = cells(table)
    assert (by_title(header, line)["popsize"], by_title(header, line)["failed"]) == (NONE, "20")
    assert "failed: runs that ended with an error" in legend(table)
    assert [row["failed_at_any_size"] for row in table.records()] == [20, 20]


def test_an_algorithm_without_a_population_has_no_size() -> None:
    table = of_runs(CLIMBERS, climbing_runs())
    lines = [line for line in cells(table)[1:] if line[2] == "climber"]
    assert [line[3:5] for line in lines] == [["", r"**904**\* ± 3"], [NONE, NONE]]
    half, most = (row for row in table.records() if row["algorithm"] == "climber")
    assert (half["popsize"], half["unsettled"], half["solved"]) == (None, None, 7)
    assert (most["popsize"], most["unsettled"]) == (None, Unsettled.NONE.value)
    under_way = cells(of_runs(CLIMBERS, climbing_runs(made=8)))
    assert [line[4] for line in under_way if line[2] == "climber"] == [f"904 ± 2 {OPEN}", "7/8"]


def test_the_paper_is_no_measure_for_another_landscape() -> None:
    theirs = dataclasses.replace(NK, problem="nk:some/where/nk_30_4.1")
    for problem, comparable in ((STUDY.problems[0], True), (NK, False), (theirs, True)):
        table = of_rows(one_row(problem=problem))
        assert (next(table.records())["ratio"] is not None) == comparable
        assert ("†" in table.markdown()) != comparable


def test_records_of_levels_hold_the_numbers() -> None:
    rows = list(special().records())
    first, boa, _, boa_90, nk, *_ = rows
    assert [list(row) for row in rows] == [[column.name for column in LEVELS]] * 8
    json.dumps(rows, allow_nan=False)
    assert [first[name] for name in ("problem", "algorithm", "level")] == ["trap:k=4,n=20", "DAE-EDA", 50]
    assert (first["popsize"], first["failed_at_any_size"]) == (1000, 1)
    assert (first["runs"], first["solved"], first["failed"], first["complete"]) == (10, 9, 1, True)
    assert (first["evaluations_to_best"], first["confirmed_runs"], first["confirmed_solved"]) == (12_004.0, 4, 3)
    assert (first["confirmed_evaluations_to_best"], first["published_evaluations_to_best"]) == (13_001.5, 2550.0)
    assert first["ratio"] == pytest.approx(12_004 / 2550)
    assert (first["evaluations_to_best_star"], first["cpu_seconds_to_best_p"]) == (False, None)
    assert (boa["complete"], boa["published_evaluations_to_best_star"]) == (False, True)
    assert (boa_90["popsize"], boa_90["unsettled"], boa_90["runs"]) == (None, Unsettled.OPEN.value, 0)
    assert (boa_90["ratio"], boa_90["published_cpu_seconds_to_best"]) == (None, 117.0)
    assert (nk["spec"], nk["unsettled"], nk["confirmed_runs"]) == ("nk:n=30,k=4,seed=1", Unsettled.NONE.value, None)


# Sizes


def test_a_table_of_sizes() -> None:
    header, *body = cells(of_runs(STUDY, special_runs(), sizes=True))
    assert header == ["Problem", "Algorithm", "popsize", "solved", "failed", "mean best", "evaluations", "CPU s"]
    assert body[0] == ["trap:k=4,n=20", "DAE-EDA", "100", "2/10", "", "19.20 ± 0.42", "1,504 ± 3", r"0.01 ± \<0.001"]
    assert body[1][:5] == ["", "", "1,000", "9/10", "1"]
    assert len(body) == 5
    climbers = of_runs(CLIMBERS, climbing_runs(), sizes=True)
    assert [line[1:3] for line in cells(climbers)[1:]] == [["DAE-EDA", "100"], ["climber", ""]]
    first, second = climbers.records()
    assert (first["batches"], first["batches_sd"], second["popsize"], second["solved"]) == (6.0, 0.0, None, 7)
    unjudged = {STUDY.cells()[0].key: {0: Run(seed=0, status="done", success=None, best=3.5)} | failed(1)}
    assert cells(of_runs(STUDY, unjudged, sizes=True))[1][3:5] == ["?/2", "1"]
    assert cells(of_runs(STUDY, {}, sizes=True))[1:] == []
    with pytest.raises(ValueError, match="leave out --sizes"):
        of_runs(BUDGET_STUDY, {}, sizes=True)


# Budgets


def test_a_table_of_budgets_has_mean_ranks_below() -> None:
    header, *body = cells(budgets())
    assert header == [
        *("Problem", "budget", "Algorithm", "popsize", "mean best", "median", "rank", "solved", "ERT", "CPU s"),
        *("CPU us/eval", "evaluations", "batches"),
    ]
    figures = ["0.5 ± 0.0", "4,830.9", "104 ± 2", "4 ± 0"]
    assert body[:2] == [
        ["trap:k=4,n=20", "100", "umda", "", "3.5 ± 2.4", "3.5", "1.5", "0/8", NONE, *figures],
        ["", "", "PBIL 50", "50", "3.5 ± 2.4", "3.5", "1.5", "0/8", NONE, *figures],
    ]
    assert body[2][:9] == ["", "1,000", "umda", "", r"**13.9**\* ± 2.8", "13.9", "1", "3/8", "2,409"]
    assert body[4][0] == "cost (onemax:n=20)"
    assert [(line[0], line[1], line[2], line[6]) for line in body[8:]] == [
        ("all problems (mean ranks)", "100", "umda", "1.75"),
        ("", "", "PBIL 50", "1.25"),
        ("", "1,000", "umda", "1.5"),
        ("", "", "PBIL 50", "1.5"),
    ]


def test_what_is_missing_or_failed_is_seen() -> None:
    runs = some_runs()
    of_cell = runs[BUDGET_STUDY.cell(TRAP, UMDA, None, 1000).key]
    del of_cell[7]
    of_cell[6] = Run(6, "failed", False, error="oh")
    header, *body = cells(budgets(runs))
    line = by_title(header, body[2])
    assert (line["solved"], line["failed"], line["rank"]) == (f"3/7 {OPEN}", "1", OPEN)
    assert "not all runs are made yet" in legend(budgets(runs))
    assert "*" not in legend(budgets({}))
    empty = by_title(*cells(budgets({}))[:2])
    assert (empty["mean best"], empty["rank"], empty["solved"]) == (OPEN, OPEN, f"0/0 {OPEN}")


def test_without_an_optimum_there_is_no_expected_running_time() -> None:
    runs = some_runs()
    for run in next(iter(runs.values())).values():
        run.success = None
    header, line, *_ = cells(budgets(runs))
    assert (by_title(header, line)["solved"], by_title(header, line)["ERT"]) == ("?/8", "")
    assert "?: no optimum or target is known" in legend(budgets(runs))
    for of_cell in runs.values():
        for run in of_cell.values():
            run.success = None
    assert "ERT" not in budgets(runs).markdown()


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([1.0, 1.0], "1 ± 0"),
        ([0.0012, 0.0015], "0.00135 ± 0.00021"),
        ([1e-9, 3e-9], "2e-09 ± 1.41421e-09"),
        ([1_000_000.0, 1_200_000.0], "1,100,000 ± 141,421"),
        ([12.5, 14.5], "13.5 ± 1.4"),
    ],
)
def test_values_have_as_many_digits_as_their_deviation_is_worth(values: list[float], shown: str) -> None:
    one = Study.from_dict({"problems": ["onemax:n=9"], "algorithms": ["umda"], "budgets": [10], "runs": 2})
    assert by_title(*cells(of_runs(one, {one.cells()[0].key: runs_of(values)})))["mean best"] == shown


def test_records_of_budgets_have_columns_that_do_not_depend_on_them() -> None:
    records = list(budgets().records())
    third = records[2]
    expected = {"problem": "trap:k=4,n=20", "algorithm": "umda", "budget": 1000, "popsize": None, "runs": 8, "rank": 1}
    assert {name: third[name] for name in expected} == expected
    assert (third["median"], third["best_star"], third["best_p"]) == (13.9375, True, pytest.approx(2 / 2**8))
    assert json.loads(budgets().json()) == records
    assert [list(one) for one in budgets({}).records()] == [[column.name for column in BUDGETS]] * 8
    pytest.importorskip("pandas")
    assert budgets().frame()["rank"].tolist() == [record["rank"] for record in records]


# Legends


@pytest.mark.parametrize(
    ("test", "holm", "words"),
    [
        ("signed-rank", False, "Wilcoxon signed-rank tests, p < 0.01)"),
        ("mann-whitney", True, "Mann-Whitney tests, p < 0.01, corrected by Holm's method)"),
    ],
)
def test_the_legend_names_the_test(test: Test, holm: bool, words: str) -> None:
    table = of_rows(one_row(star=True), test=test, holm=holm)
    assert words in legend(table)
    assert words.replace("<", r"\<") in table.markdown()
    assert words.replace("<", r"\textless{}") in table.latex()


def test_the_legend_explains_what_is_there_and_nothing_else() -> None:
    signs = (NONE, OPEN, "failed: ", "again: ", "paper: ", "†")
    everything = legend(special()).splitlines()
    assert [sum(line.startswith(sign) for line in everything) for sign in signs] == [1] * len(signs)
    little = legend(of_rows(one_row(name="mine")))
    assert not any(word in little for word in (*signs, "*", "n/a", "ERT"))
    assert "* significantly better than every other algorithm at this level" in legend(of_rows(one_row(star=True)))
    assert not legend(of_rows())
    plain = legend(budgets())
    assert "of 8 runs" in plain
    assert "with this budget (pairwise" in plain
    assert "ERT: expected running time" in plain
    assert f"{NONE} no run has solved the problem." in plain
    assert not any(word in plain for word in ("failed", "not all runs", "can be significant"))


@pytest.mark.parametrize(
    ("rows", "holm", "impossible"),
    [
        ([one_row(runs=7)] * 2, False, 7),
        ([one_row(runs=8)] * 3, False, None),
        ([one_row(runs=8)] * 3, True, 8),  # after Holm it takes more
        ([one_row(runs=8, failed=1)] * 2, False, 7),
    ],
)
def test_the_legend_says_when_no_star_is_possible(rows: list[Row], holm: bool, impossible: int | None) -> None:
    text = legend(of_rows(*rows, holm=holm))
    assert (f"With {impossible} runs no difference can be significant" in text) == (impossible is not None)


# LaTeX

AWKWARD = r"_ & % # { } ~ ^ \ $ < > | -- --- `a' [x] *"
FOREIGN = "éèêñãüåçčěőşøßœłŠŽ «β» 漢 \U0001f600 e\u0301 ą µ №"


@pytest.mark.parametrize("name", ["plain", AWKWARD, *AWKWARD.split()])
def test_latex_is_well_formed_whatever_the_names(name: str) -> None:
    text = of_rows(
        *special_rows(), one_row(problem=StudyProblem(name=name, problem="trap:k=4,n=20"), name=name)
    ).latex()
    braces = re.sub(r"[^{}]", "", re.sub(r"\\[\\{}]", "", text))
    while "{}" in braces:
        braces = braces.replace("{}", "")
    assert braces == ""
    (layout,) = re.findall(r"\\begin\{longtable\}\{(.*)\}$", text, re.MULTILINE)
    for line in [line for line in text.splitlines() if line.endswith(r"\\") and r"\caption" not in line]:
        spans = sum(int(width) - 1 for width in re.findall(r"\\multicolumn\{(\d)\}", line))
        assert len(re.findall(r"(?<!\\)&", line)) + spans + 1 == len(layout.replace("@{}", ""))
    without = re.sub(r"\\[_&%#{}$]|\$\\(pm|geq)\$|^%.*$", "", text, flags=re.MULTILINE)
    assert not re.search(r"[_%#~^$<>|]", without)


def test_latex_escapes_and_shows_by_its_number_what_it_does_not_know() -> None:
    text = of_rows(one_row(name=AWKWARD), one_row(name="Müller, č, β, 漢"), one_row(name="[2cm] x")).latex()
    assert (
        r"\_ \& \% \# \{ \} \textasciitilde{} \textasciicircum{} \textbackslash{} \$ \textless{} \textgreater{} "
        r"\textbar{} -{}- -{}-{}- `a' {[}x{]} *"
    ) in text
    assert r"Müller, \texttt{U+010D}, \texttt{U+03B2}, \texttt{U+6F22}" in text
    assert "& {[}2cm{]} x & " in text
    assert r"\textbf{1,850*} & \,$\pm$382" in special().latex()


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex on this machine")
def test_latex_compiles(tmp_path: Path) -> None:
    names = [one_row(problem=StudyProblem(name=name, problem="onemax:n=9"), name=name) for name in (AWKWARD, FOREIGN)]
    table = of_rows(*special_rows(), *names).latex()
    packages = r"\documentclass[a4paper]{article}\usepackage{booktabs,longtable}"
    path = tmp_path / "table.tex"
    path.write_text(packages + r"\begin{document}" + f"\n{table}" + r"\end{document}", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", path.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]


def test_names_in_html_and_markdown_are_shown_and_never_obeyed() -> None:
    bad = "<script>a_b*c[d]`f`|"
    table = of_rows(one_row(name=bad, problem=StudyProblem(name=bad, problem="onemax:n=9")))
    assert "<script" not in table.html()
    assert table.html().count("&lt;script&gt;") == 2
    assert r"\<script\>a\_b\*c\[d\]\`f\`\|" in table.markdown()
    assert "<strong>57,750</strong>* <small>± 18,250</small>" in of_rows(one_row(star=True)).html()


def test_a_best_value_that_is_infinite_has_no_deviation() -> None:
    row = one_row(best=Measure(mean=float("-inf"), sd=float("nan")), choice=None)
    assert "| -inf |" in dataclasses.replace(of_rows(row), columns=BUDGETS).markdown()

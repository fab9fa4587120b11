"""The table of a study as Markdown, as LaTeX and for other programs, and its legend, from runs made by hand."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from table_helpers import ALL_FAILED, CLIMBERS, NK, STUDY, climbing_runs, failed, one_row, special_rows, special_runs

from daedal.studies.analysis import Row, Test, analyse
from daedal.studies.paper import PublishedTable, published
from daedal.studies.plan import LEVELS, Unsettled
from daedal.studies.spec import StudyProblem
from daedal.studies.store import Run
from daedal.studies.tables import (
    NONE,
    OPEN,
    ROW_COLUMNS,
    SIZE_COLUMNS,
    flat_rows,
    flat_sizes,
    latex,
    legend_of,
    markdown,
    problem_title,
    sizes_markdown,
)


@pytest.mark.parametrize(
    ("name", "problem", "title"),
    [
        ("trap:k=4,n=20", "trap:k=4,n=20", ("trap:k=4,n=20", "")),
        ("mine", "trap:k=4,n=20", ("mine", "(trap:k=4,n=20)")),
        ("nk:n=30,k=4,i=1", "nk:some/where/nk_30_4.1", ("nk:n=30,k=4,i=1", "(nk:nk_30_4.1)")),
        ("mine", "some/where/score.py:f", ("mine", "(score.py:f)")),
        ("mine", r"D:\some\where\score.py:f", ("mine", "(score.py:f)")),
        ("score.py:f", "some/where/score.py:f", ("score.py:f", "")),
        ("some/where/score.py:f", "some/where/score.py:f", ("some/where/score.py:f", "")),
        ("nk:some/x=1/file.nk", "/work/nk:some/x=1/file.nk", ("nk:some/x=1/file.nk", "(/work/nk:file.nk)")),
        ("cmd:./score --of a/b", "cmd:./score --of a/b", ("cmd:./score --of a/b", "")),
        ("mine", "cmd:./score --of a/b", ("mine", "(cmd:./score --of a/b)")),
        ("two\n lines", "trap:k=4,n=20", ("two lines", "(trap:k=4,n=20)")),
    ],
)
def test_titles_say_what_a_problem_is_but_not_where_it_lies(name: str, problem: str, title: tuple[str, str]) -> None:
    assert problem_title(StudyProblem(name=name, problem=problem)) == title


def legend(rows: list[Row], known: PublishedTable | None = None, test: Test = "signed-rank", holm: bool = False) -> str:
    return "\n".join(legend_of(rows, known, test, holm))


@pytest.mark.parametrize(
    ("test", "correct", "words"),
    [
        ("signed-rank", False, "Wilcoxon signed-rank tests, p < 0.01)"),
        ("mann-whitney", False, "Mann-Whitney tests, p < 0.01)"),
        ("mann-whitney", True, "Mann-Whitney tests, p < 0.01, corrected by Holm's method)"),
    ],
)
def test_the_legend_names_the_test(test: Test, correct: bool, words: str) -> None:
    assert words in legend([one_row(star=True)], None, test, correct)
    assert words.replace("<", r"\<") in markdown([one_row(star=True)], test=test, correct=correct)
    assert words.replace("<", r"\textless{}") in latex([one_row(star=True)], test=test, correct=correct)


def test_the_legend_explains_what_is_there_and_nothing_else() -> None:
    signs = (NONE, OPEN, "failed: ", "again: ", "paper: ", "†")
    everything = legend(special_rows(), published()).splitlines()
    assert [sum(line.startswith(sign) for line in everything) for sign in signs] == [1] * len(signs)
    little = legend([one_row()])
    assert not any(word in little for word in (*signs, "*", "n/a", "No popsize", "processors"))
    assert "* significantly smaller" in legend([one_row(star=True)])
    assert "processors are not compared" in legend([one_row(p=0.5)])
    assert "No popsize: " in legend(analyse(CLIMBERS, climbing_runs()))
    assert not legend([])


def test_the_legend_explains_a_cell_of_the_table_while_runs_are_missing() -> None:
    assert legend(analyse(STUDY, {})) == f"{OPEN} not all runs are made yet."
    said = next(line for line in legend(special_rows()).splitlines() if line.startswith(OPEN))
    shown = said.split("; ")[1].split(":")[0]
    assert f"| {shown} |" in markdown(special_rows())
    solved, runs = re.findall("[0-9]+", shown)[:2]
    assert f"of {runs} runs" in said
    assert f"{solved} have solved it" in said


@pytest.mark.parametrize(
    ("rows", "correct", "impossible"),
    [
        ([one_row(runs=7)], False, 7),
        ([one_row(runs=8)], False, None),
        ([one_row(runs=8)] * 3, False, None),
        ([one_row(runs=8)] * 3, True, 8),  # after Holm it takes more
        ([one_row(runs=8, failed=1)] * 2, False, 7),
    ],
)
def test_the_legend_says_when_no_star_is_possible(rows: list[Row], correct: bool, impossible: int | None) -> None:
    text = legend(rows, holm=correct)
    assert "significantly smaller" not in text
    assert (f"With {impossible} runs no difference can be significant" in text) == (impossible is not None)


def columns(text: str) -> set[int]:
    """Count the cells of the lines of a table."""
    return {len(re.findall(r"(?<!\\)\|", line)) - 1 for line in text.splitlines() if line.startswith("|")}


def test_markdown_has_the_same_columns_in_each_line() -> None:
    assert columns(markdown([])) == columns(markdown(special_rows(confirm=0))) == {8}
    assert columns(markdown(special_rows())) == {10}
    assert columns(markdown(special_rows(), published=published())) == {14}
    assert columns(markdown([one_row(name=r"a|b\|c")])) == {8}
    assert columns(sizes_markdown(STUDY, {})) == {7}
    assert r"| a\_b\*c\[d\]\<e\>\`f\` g |" in markdown([one_row(name="a_b*c[d]<e>`f`\ng")])  # names are no Markdown


def test_markdown_has_all_there_is_to_say() -> None:
    text = markdown(special_rows(), published=published())
    assert "| trap:k=4,n=20 | DAE-EDA | 1,000 (1 failed) | 12,004 ± 3 | 2,550 ± 1,150 | 0.021 ± \\<0.001 |" in text
    assert "| 18 ± 6.9 | 3/4: 13,002 ± 1 |" in text
    assert f"| 117 ± 26 | {OPEN} | {OPEN} | 8/9 at 100 | **1,850**\\* ± 382 | {OPEN} | 117 ± 26 |  |" in text
    assert "nk:n=30,k=4,i=1 (nk:n=30,k=4,seed=1)" in text
    assert text.count("trap:k=4,n=20") == text.count("nk:n=30,k=4,i=1") == 1
    assert "|\n\nMean ±" in text
    assert f"0/3 (3 failed): {NONE}" in markdown([one_row(confirmed=ALL_FAILED)])


def test_seconds_have_sensible_digits() -> None:
    values = [0.0, 0.0004, 0.0034, 0.03, 0.3, 0.996, 1.24, 9.96, 34.4, 1297.2]
    texts = ["0.0", r"\<0.001", "0.0034", "0.03", "0.3", "1.0", "1.2", "10", "34", "1,297"]
    for seconds, text in zip(values, texts, strict=True):
        assert f"| 57,750 ± 18,250 | {text} ± 0.004 |" in markdown([one_row(seconds=seconds)])


def test_sizes_as_markdown() -> None:
    text = sizes_markdown(STUDY, special_runs())
    assert columns(text) == {8}
    assert "| trap:k=4,n=20 | DAE-EDA | 100 | 2/10 |  | 19.2 ± 0.42 | 1,504 ± 3 | 0.01 ± \\<0.001 |" in text
    assert "| nk:n=30,k=4,i=1 (nk:n=30,k=4,seed=1) | DAE-EDA |" in text
    runs = climbing_runs()
    lines = sizes_markdown(CLIMBERS, runs).splitlines()
    assert [line.split(" | ")[-1] for line in lines] == ["batches |", "--: |", "6 ± 0 |", "80 ± 0 |"]
    key = CLIMBERS.cells()[0].key  # where batches are the generations and the first one, and nothing failed
    assert not re.search("batches|failed", sizes_markdown(CLIMBERS, {key: runs[key]}))


AWKWARD = r"_ & % # { } ~ ^ \ $ < > | -- --- `a' [x] *"
FOREIGN = "éèêñãüåçčěőşøßœłŠŽ «β» 漢 \U0001f600 e\u0301 ą µ №"


def body_lines(text: str) -> list[str]:
    """Give the lines below the headings."""
    return [line for line in text.splitlines() if line.endswith(r"\\") and "multicolumn" not in line]


@pytest.mark.parametrize("name", ["plain", AWKWARD, *AWKWARD.split()])
def test_latex_is_well_formed_whatever_the_names(name: str) -> None:
    problem = StudyProblem(name=name, problem="trap:k=4,n=20")
    text = latex([*special_rows(), one_row(problem=problem, name=name)])
    braces = re.sub(r"[^{}]", "", re.sub(r"\\[\\{}]", "", text))
    while "{}" in braces:
        braces = braces.replace("{}", "")
    assert braces == ""
    assert {len(re.findall(r"(?<!\\)&", line)) for line in body_lines(text)} == {1 + 5 * len(LEVELS)}
    without = re.sub(r"\\[_&%#{}$]|\$\\(pm|geq)\$|^%.*$|^\\resizebox.*$", "", text, flags=re.MULTILINE)
    assert not re.search(r"[_%#~^$<>|]", without)
    for line in [line for line in text.splitlines() if "multicolumn" in line]:  # the headings
        spans = sum(int(width) - 1 for width in re.findall(r"\\multicolumn\{(\d)\}", line))
        assert len(re.findall(r"(?<!\\)&", line)) + spans == 1 + 5 * len(LEVELS)


def test_latex_escapes_and_shows_by_its_number_what_it_does_not_know() -> None:
    assert (
        r"\_ \& \% \# \{ \} \textasciitilde{} \textasciicircum{} \textbackslash{} \$ \textless{} \textgreater{} "
        r"\textbar{} -{}- -{}-{}- `a' {[}x{]} *"
    ) in latex([one_row(name=AWKWARD)])
    assert r"Müller, č, \texttt{U+03B2}, \texttt{U+6F22}" in latex([one_row(name="Müller, č, β, 漢")])
    bracket = StudyProblem(name="[2cm] x", problem="trap:k=4,n=20")  # no argument of the rule above it
    assert "\n{[}2cm{]} x & " in latex([one_row(problem=bracket)])


def test_latex_has_all_there_is_to_say() -> None:
    text = latex(special_rows(), published=published())
    assert re.match(r"% .*\\usepackage\{booktabs,graphicx\}", text)
    assert "1 failed" in text
    for part in (
        r"trap:k=4,n=20 & DAE-EDA & 1,000 & 12,004 & \,$\pm$3 & 0.021 &",
        r"\textit{paper} & \textit{\textbf{1,850*}} & \,$\pm$382 &",
        r"\textit{again 3/4}",
        r"1,004 & \,$\pm$3 \dots{} &",
        r"\textit{(nk:n=30,k=4,seed=1)\dag{}}",
        r"\textendash{} & \textendash{} &",
        r"\caption{Mean $\pm$ standard deviation of 10 runs",
    ):
        assert part in text
    assert "(nk:n=30,k=4,seed=1)" in latex([one_row(problem=NK)])  # though there is one line only


def test_a_long_table_takes_several_pages_and_splits_no_problem() -> None:
    problems = [StudyProblem(name=f"p{number}", problem="trap:k=4,n=20") for number in range(20)]
    rows = [one_row(problem=one, name=name) for one in problems for name in "abcdef"]
    pages = latex(rows).split(r"\begin{table*}")[1:]
    assert [len(body_lines(page)) for page in pages] == [60, 60]
    assert latex(rows).count(r"\caption{Continued.}") == 1


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex on this machine")
def test_latex_compiles(tmp_path: Path) -> None:
    awkward = one_row(problem=StudyProblem(name=AWKWARD, problem="some/where/score.py:f"), name=AWKWARD)
    foreign = one_row(problem=StudyProblem(name=FOREIGN, problem="trap:k=4,n=20"), name=FOREIGN)
    table = latex([*special_rows(), awkward, foreign], published=published())
    packages = r"\documentclass[a4paper]{article}\usepackage{booktabs,graphicx}"
    path = tmp_path / "table.tex"
    path.write_text(packages + r"\begin{document}" + f"\n{table}" + r"\end{document}", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", path.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]


def test_flat_rows_hold_the_numbers() -> None:
    rows = flat_rows(special_rows(), published=published())
    first, _, boa, boa_90, nk, *_ = rows
    assert len(rows) == 2 * 2 * len(LEVELS)
    assert {tuple(row) for row in rows} == {tuple(ROW_COLUMNS)}
    json.dumps(rows, allow_nan=False)
    assert {"evaluations_to_best_sd", "evaluations_to_best_p", "published_cpu_seconds_to_best_star"} < set(first)
    assert [first[name] for name in ("problem", "algorithm", "level")] == ["trap:k=4,n=20", "DAE-EDA", 50]
    assert (first["popsize"], first["failed_at_any_size"]) == (1000, 1)
    assert (first["runs"], first["solved"], first["failed"], first["complete"]) == (10, 9, 1, True)
    assert (first["evaluations_to_best"], first["confirmed_runs"], first["confirmed_solved"]) == (12_004.0, 4, 3)
    assert (first["confirmed_evaluations_to_best"], first["published_evaluations_to_best"]) == (13_001.5, 2550.0)
    assert first["ratio"] == pytest.approx(12_004 / 2550)
    assert (first["evaluations_to_best_star"], first["cpu_seconds_to_best_star"]) == (False, False)
    assert (boa["complete"], boa["published_evaluations_to_best_star"]) == (False, True)
    assert (boa_90["popsize"], boa_90["unsettled"], boa_90["runs"]) == (None, Unsettled.OPEN.value, None)
    assert (boa_90["ratio"], boa_90["published_cpu_seconds_to_best"]) == (None, 117.0)
    assert (nk["spec"], nk["unsettled"], nk["confirmed_runs"]) == ("nk:n=30,k=4,seed=1", Unsettled.NONE.value, None)
    for row in flat_rows(special_rows()):
        assert (row["published_evaluations_to_best"], row["ratio"]) == (None, None)
    hidden = StudyProblem(name="mine", problem="some/where/score.py:f")
    assert flat_rows([one_row(problem=hidden)])[0]["spec"] == "score.py:f"


def test_flat_sizes_hold_the_numbers() -> None:
    rows = flat_sizes(STUDY, special_runs())
    first, second = rows[:2]
    assert (first["problem"], first["algorithm"], first["popsize"]) == ("trap:k=4,n=20", "DAE-EDA", 100)
    assert (first["runs"], first["solved"], first["failed"], first["complete"]) == (10, 2, 0, True)
    assert (first["best"], first["evaluations_to_best"]) == (19.2, 1504.5)
    assert (first["batches"], first["batches_sd"]) == (None, None)  # of old stores
    assert (second["failed"], second["best"], second["best_sd"]) == (1, 20.0, 0.0)
    assert len(rows) == 5
    assert {tuple(row) for row in rows} == {tuple(SIZE_COLUMNS)}
    json.dumps(rows, allow_nan=False)
    unjudged = {STUDY.cells()[0].key: {0: Run(seed=0, status="done", success=None, best=3.5)}}
    assert flat_sizes(STUDY, unjudged)[0]["solved"] is None


def test_the_paper_is_no_measure_for_another_landscape() -> None:
    theirs = dataclasses.replace(NK, problem="nk:some/where/nk_30_4.1")
    for problem, comparable in ((STUDY.problems[0], True), (NK, False), (theirs, True)):
        rows = [one_row(problem=problem)]
        assert all((flat["ratio"] is not None) == comparable for flat in flat_rows(rows, published=published()))
        assert ("†" in markdown(rows, published=published())) != comparable
        assert (r"\dag{}" in latex(rows, published=published())) != comparable
        assert "†" not in markdown(rows)  # without the paper there is nothing to mark
    mine = [one_row(name="mine")]  # of which the paper has nothing, and so no column
    assert markdown(mine, published=published()) == markdown(mine)
    assert latex(mine, published=published()) == latex(mine)


def test_what_cannot_be_judged_is_not_called_unsolved() -> None:
    made = {seed: Run(seed=seed, status="done", success=None, best=1.0) for seed in STUDY.seeds}
    rows = analyse(STUDY, {cell.key: made for cell in STUDY.cells()[:2]})
    assert "| trap:k=4,n=20 | DAE-EDA | n/a | n/a | n/a | n/a | n/a | n/a |" in markdown(rows[:1])
    assert "n/a no optimum or target is known" in legend(rows[:1])
    assert NONE not in legend(rows[:1])
    assert flat_rows(rows)[0]["unsettled"] == "no optimum or target is known"


def test_failures_are_seen_though_no_size_is_chosen() -> None:
    runs = {cell.key: failed(*STUDY.seeds) for cell in STUDY.cells()[:2]}
    rows = analyse(STUDY, runs)[:1]
    assert f"| {NONE} (20 failed) |" in markdown(rows)
    assert "20 failed &" in latex(rows)
    assert "failed: these runs ended with an error" in legend(rows)
    assert [flat["failed_at_any_size"] for flat in flat_rows(rows)] == [20, 20]


def test_an_algorithm_without_a_population_has_no_size() -> None:
    runs = climbing_runs()
    rows = analyse(CLIMBERS, runs)
    assert "| climber |  | **904**\\* ± 3 |" in markdown(rows)
    assert r"climber &  & \textbf{904*} & \,$\pm$3 &" in latex(rows)
    assert "|  | climber |  | 7/10 |" in sizes_markdown(CLIMBERS, runs)
    *_, half, most = flat_rows(rows)
    assert (half["popsize"], half["unsettled"], half["solved"]) == (None, None, 7)
    assert (most["popsize"], most["unsettled"], most["solved"]) == (None, Unsettled.NONE.value, None)
    flat = flat_sizes(CLIMBERS, runs)[-1]
    assert (flat["algorithm"], flat["popsize"], flat["batches"], flat["batches_sd"]) == ("climber", None, 80.0, 0.0)
    runs[CLIMBERS.cells()[-1].key] |= failed(9)
    assert "| climber | (1 failed) | " in markdown(analyse(CLIMBERS, runs))

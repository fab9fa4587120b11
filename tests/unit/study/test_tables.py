"""The table of a study in each of its formats, from runs made by hand."""

from __future__ import annotations

import dataclasses
import io
import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from daedal.study.analysis import Effort, Entry, Measure, Row, Runs, analyse
from daedal.study.plan import LEVELS, Unsettled
from daedal.study.published import published
from daedal.study.run import Run
from daedal.study.spec import Study, StudyProblem
from daedal.study.statistics import Test
from daedal.study.tables import (
    flat_rows,
    flat_sizes,
    latex,
    latex_document,
    markdown,
    problem_title,
    rich_table,
    sizes_markdown,
    sizes_table,
)

RUNS = 10
NONE, OPEN = "\N{EN DASH}", "…"

STUDY = Study.from_dict(
    {
        "problems": ["trap:k=4,n=20", {"name": "nk:n=30,k=4,i=1", "problem": "nk:n=30,k=4,seed=1"}],
        "algorithms": [{"name": "DAE-EDA", "algorithm": "dae-2015"}, {"name": "BOA", "algorithm": "boa"}],
        "popsizes": [100, 1000],
        "runs": RUNS,
    }
)
TRAP, NK = STUDY.problems
DAE, BOA = STUDY.algorithms


def some(seeds: Iterable[int], *, solved: int, evaluations: int, seconds: float) -> dict[int, Run]:
    """Make runs of which the first are solved; each takes a little more than the one before."""
    return {
        seed: Run(
            seed=seed,
            status="done",
            success=index < solved,
            best=20.0 if index < solved else 19.0,
            evaluations=evaluations + index,
            seconds=seconds * (1 + index / 100),
        )
        for index, seed in enumerate(seeds)
    }


def failed(runs: dict[int, Run], *seeds: int) -> dict[int, Run]:
    return runs | {seed: Run(seed=seed, status="failed", success=False, error="ZeroDivisionError") for seed in seeds}


def special_runs() -> Runs:
    """Give each special case once.

    On the trap, DAE-EDA needs 1,000 for both levels, one run fails, and fresh seeds confirm it; BOA solves half with
    100, before all runs are made, so that 90 % are open. On the landscape, DAE-EDA solves nothing and BOA nothing yet.
    """
    seeds, fresh = STUDY.seeds, STUDY.fresh_seeds(4)
    return {
        STUDY.cell(TRAP, DAE, 100).key: some(seeds, solved=2, evaluations=1500, seconds=0.01),
        STUDY.cell(TRAP, DAE, 1000).key: failed(some(seeds, solved=9, evaluations=12_000, seconds=0.02), 9)
        | some(fresh, solved=3, evaluations=13_000, seconds=0.025),
        STUDY.cell(TRAP, BOA, 100).key: some(seeds[:9], solved=8, evaluations=1000, seconds=1234.0),
        STUDY.cell(NK, DAE, 100).key: some(seeds, solved=0, evaluations=1000, seconds=1.0),
        STUDY.cell(NK, DAE, 1000).key: some(seeds, solved=0, evaluations=1000, seconds=1.0),
    }


def special_rows(*, confirm: int = 4) -> list[Row]:
    return analyse(STUDY, special_runs(), confirm=confirm)


def one_row(*entries: Entry, problem: StudyProblem = TRAP, name: str = "DAE-EDA") -> Row:
    """Make a row whose levels all have the same entry, or one each."""
    by_level = dict(zip(LEVELS, entries * (len(LEVELS) // len(entries)), strict=True))
    return Row(problem=problem, algorithm=dataclasses.replace(DAE, name=name), entries=by_level)


def effort(evaluations: Measure, seconds: Measure) -> Effort:
    return Effort(
        popsize=1000,
        runs=20,
        solved=19,
        failed=0,
        complete=True,
        best=Measure(mean=20.0, sd=0.0),
        evaluations=evaluations,
        seconds=seconds,
    )


def entry(mean: float = 57_750.4, seconds: float = 0.03, *, star: bool = False) -> Entry:
    found = effort(Measure(mean=mean, sd=18_250.0, star=star), Measure(mean=seconds, sd=0.004))
    return Entry(choice=1000, effort=found)


def shown(what: RenderableType, width: int = 80) -> str:
    file = io.StringIO()
    Console(file=file, width=width, highlight=False).print(what)
    return file.getvalue()


def line_of(text: str, *words: str) -> str:
    """Find the only line with the words."""
    (found,) = [line for line in text.splitlines() if all(word in line for word in words)]
    return " ".join(found.split())


# On a terminal


@pytest.mark.parametrize("width", [80, 100, 140, 220])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    text = shown(rich_table(special_rows(), published=published()), width)
    assert max(map(len, text.splitlines())) <= width


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
    assert "≥ 50 % of runs solved" in text.splitlines()[0]
    assert line_of(text, "trap").startswith("trap:k=4,n=20 DAE-EDA 1,000 12,004 ± 3 0.021 ± <0.001 1,000 12,004 ± 3")
    assert line_of(text, "nk:n=30,k=4,i=1") == " ".join(["nk:n=30,k=4,i=1", "DAE-EDA", *[NONE] * 6])


def test_all_is_on_one_line_where_there_is_much_room() -> None:
    rows = [one_row(entry(star=True))]
    text = shown(rich_table(rows, published=published()), 160)
    level = "1,000 57,750* ± 18,250 {} 0.03 ± 0.004 {}"
    first, second = level.format("2,550 ± 1,150", "18 ± 6.9"), level.format("4,450 ± 1,359", "21 ± 9.2")
    assert line_of(text, "trap") == f"trap:k=4,n=20 DAE-EDA {first} {second}"


def test_numbers_stand_below_each_other() -> None:
    rows = [one_row(entry(1234567, 1297, star=True)), one_row(entry(12, 0.03), name="BOA")]
    lines = [line for line in shown(rich_table(rows, legend=False)).splitlines() if "±" in line]
    assert len({tuple(found.start() for found in re.finditer("±", line)) for line in lines}) == 1


def test_a_width_goes_before_that_of_the_console() -> None:
    assert "of runs solved" not in shown(rich_table(special_rows(), width=80), 200)
    assert "of runs solved" in shown(rich_table(special_rows()), 200)


def test_a_problems_name_is_shown_once() -> None:
    for text in (shown(rich_table(special_rows()), 200), shown(rich_table(special_rows())), markdown(special_rows())):
        assert text.count("trap:k=4,n=20") == 1
        assert text.count("nk:n=30,k=4,i=1") == 1


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_seed_of_a_landscape_is_seen(width: int) -> None:
    assert "(nk:n=30,k=4,seed=1)" in shown(rich_table(special_rows()), width)


def test_a_seed_is_seen_though_its_problem_has_one_line_only() -> None:
    row = one_row(entry(), problem=NK)
    assert "(nk:n=30,k=4,seed=1)" in shown(rich_table([row]), 200)
    assert "(nk:n=30,k=4,seed=1)" in latex([row])


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


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.0"),
        (0.0004, "<0.001"),
        (0.0034, "0.0034"),
        (0.03, "0.03"),
        (0.3, "0.3"),
        (0.996, "1.0"),
        (1.24, "1.2"),
        (9.96, "10"),
        (34.4, "34"),
        (1297.2, "1,297"),
    ],
)
def test_seconds_have_sensible_digits(seconds: float, text: str) -> None:
    assert f"57,750 ± 18,250 {text} ± 0.004" in line_of(shown(rich_table([one_row(entry(seconds=seconds))])), "50 %")


def test_whose_run_failed_and_who_is_not_done_is_seen() -> None:
    text = shown(rich_table(special_rows(confirm=0)))
    assert text.count("1 failed") == 2  # the same size for both levels
    assert line_of(text, "BOA", "100").endswith("1,283 ± 34 …")


def test_a_size_without_a_single_good_fresh_run_is_shown() -> None:
    again = Effort(popsize=1000, runs=3, solved=0, failed=3, complete=True, best=None, evaluations=None, seconds=None)
    row = one_row(dataclasses.replace(entry(), confirmed=again))
    text = shown(rich_table([row], legend=False), 200)
    assert line_of(text, "again") == f"again 0/3 {NONE} {NONE} again 0/3 {NONE} {NONE}"
    assert line_of(text, "failed") == "3 failed 3 failed"
    assert f"0/3 (3 failed): {NONE}" in markdown([row])


@pytest.mark.parametrize(
    ("test", "correct", "words"),
    [
        ("signed-rank", False, "Wilcoxon signed-rank tests, p < 0.01)"),
        ("mann-whitney", False, "Mann-Whitney tests, p < 0.01)"),
        ("mann-whitney", True, "Mann-Whitney tests, p < 0.01, corrected by Holm's method)"),
    ],
)
def test_the_legend_names_the_test(test: Test, correct: bool, words: str) -> None:
    assert words in shown(rich_table(special_rows(), test=test, correct=correct), 200)
    assert words.replace("<", r"\<") in markdown(special_rows(), test=test, correct=correct)
    assert words.replace("<", r"\textless{}") in latex(special_rows(), test=test, correct=correct)


def test_the_legend_explains_what_is_there_and_nothing_else() -> None:
    everything = shown(rich_table(special_rows(), published=published()), 200)
    for words in (
        f"{NONE} none of the sizes",
        f"{OPEN} not all runs",
        "failed: these runs",
        "again: the same size",
        "paper: as published",
        "† not the paper's landscape",
    ):
        assert words in everything
    little = shown(rich_table([one_row(entry())]), 200)
    for words in (NONE, OPEN, "failed", "again", "paper", "†", "n/a"):
        assert words not in little
    assert "* significantly smaller" in little
    assert "significantly" not in shown(rich_table([one_row(entry())], legend=False), 200)


def test_the_legend_says_that_machines_are_not_compared() -> None:
    found = effort(Measure(mean=100.0, sd=1.0, p=0.5), Measure(mean=1.0, sd=0.1))
    text = shown(rich_table([one_row(Entry(choice=1000, effort=found))]), 200)
    assert "CPU seconds of different kinds of processors are not compared." in text


@pytest.mark.parametrize("width", [60, 80])
def test_names_that_are_too_long_are_cut_and_numbers_never(width: int) -> None:
    row = one_row(entry(), problem=StudyProblem(name="problem " * 20, problem="trap:k=4,n=20"), name="algorithm " * 20)
    text = shown(rich_table([row], legend=False), width)
    assert all(len(line) <= width for line in text.splitlines())
    assert text.count("57,750 ± 18,250") == 2
    assert len(text.splitlines()) == 5  # titles, a rule, the problem, and two levels
    assert re.search(rf"^problem.*{OPEN}$", text, flags=re.MULTILINE)
    assert re.search(rf"^algor.*{OPEN} +≥ 50 %", text, flags=re.MULTILINE)


def test_numbers_of_other_studies_are_no_reason_for_a_column() -> None:
    rows = [one_row(entry(), name="mine")]
    assert "paper" not in shown(rich_table(rows, published=published()), 200)
    assert markdown(rows, published=published()) == markdown(rows)
    assert latex(rows, published=published()) == latex(rows)


def test_only_some_rows_may_have_published_numbers() -> None:
    rows = [one_row(entry(), name="mine"), one_row(entry())]
    assert shown(rich_table(rows, published=published())).count("2,550 ± 1,150") == 1


@pytest.mark.parametrize("width", [80, 120, 200])
def test_without_unicode_all_stays_in_line(width: int) -> None:
    def lines(encoding: str) -> list[str]:
        raw = io.BytesIO()
        file = io.TextIOWrapper(raw, encoding=encoding)
        table = rich_table(special_rows(), published=published())
        Console(file=file, width=width, highlight=False).print(table)
        file.flush()
        return raw.getvalue().decode(encoding).splitlines()

    ascii_lines, lines_as_they_are = lines("ascii"), lines("utf-8")
    assert [len(line) for line in ascii_lines] == [len(line) for line in lines_as_they_are]
    assert any("12,004 +-3" in " ".join(line.split()) for line in ascii_lines)
    assert "- none of the sizes that were tried reaches the level." in ascii_lines
    assert any(line.startswith("? not all runs are made yet") for line in ascii_lines)
    assert any("(nk:n=30,k=4,seed=1)+" in line for line in ascii_lines)


def test_names_are_no_markup() -> None:
    assert "[red]x[/red]" in shown(rich_table([one_row(entry(), name="[red]x[/red]")]))


def test_algorithms_whose_names_look_the_same_are_both_shown() -> None:
    rows = [one_row(entry(), name="a b"), one_row(entry(), name="a  b")]
    assert shown(rich_table(rows), 200).count("a b") == 2


def test_a_table_without_rows() -> None:
    assert shown(rich_table([], legend=False), 200).splitlines()[1].split()[:2] == ["Problem", "Algorithm"]
    assert markdown([]).startswith("| Problem | Algorithm |")


# Every population size


@pytest.mark.parametrize("width", [70, 80, 120])
def test_sizes_fit(width: int) -> None:
    assert max(map(len, shown(sizes_table(STUDY, special_runs()), width).splitlines())) <= width


def test_sizes_have_a_line_each() -> None:
    text = shown(sizes_table(STUDY, special_runs()), 120)
    assert line_of(text, "trap") == "trap:k=4,n=20 DAE-EDA 100 2/10 19.2 ± 0.42 1,504 ± 3 0.01 ± <0.001"
    assert line_of(text, "1,000", "9/10") == "1,000 9/10 1 20 ± 0 12,004 ± 3 0.021 ± <0.001"
    assert line_of(text, "BOA") == "BOA 100 8/9 19.8889 ± 0.33 1,004 ± 3 1,283 ± 34"
    assert len([line for line in text.splitlines() if "±" in line]) == 5


def test_sizes_on_a_very_narrow_terminal_have_algorithms_as_headings() -> None:
    assert "trap:k=4,n=20, DAE-EDA" in shown(sizes_table(STUDY, special_runs()), 70)


def test_nobody_can_know_what_was_solved() -> None:
    runs = {
        STUDY.cell(TRAP, DAE, 100).key: {
            0: Run(seed=0, status="done", success=None, best=3.5, evaluations=10, seconds=0.5),
            1: Run(seed=1, status="failed", success=False, error="no"),
        }
    }
    expected = "trap:k=4,n=20 DAE-EDA 100 ?/2 1 3.5 ± 0 10 ± 0 0.5 ± 0.0"
    assert line_of(shown(sizes_table(STUDY, runs), 120), "trap") == expected


def test_a_size_whose_runs_all_failed_has_no_numbers() -> None:
    runs = {STUDY.cell(TRAP, DAE, 100).key: failed({}, 0, 1)}
    expected = f"trap:k=4,n=20 DAE-EDA 100 0/2 2 {NONE} {NONE} {NONE}"
    assert line_of(shown(sizes_table(STUDY, runs), 120), "trap") == expected


def test_there_is_no_column_for_failures_without_any() -> None:
    runs = {STUDY.cell(TRAP, BOA, 100).key: special_runs()[STUDY.cell(TRAP, BOA, 100).key]}
    assert "failed" not in shown(sizes_table(STUDY, runs), 120)
    assert "failed" not in sizes_markdown(STUDY, runs)


def test_sizes_without_runs() -> None:
    assert "popsize" in shown(sizes_table(STUDY, {}), 120)
    assert columns(sizes_markdown(STUDY, {})) == {7}


def test_sizes_as_markdown() -> None:
    text = sizes_markdown(STUDY, special_runs())
    assert columns(text) == {8}
    assert "| trap:k=4,n=20 | DAE-EDA | 100 | 2/10 |  | 19.2 ± 0.42 | 1,504 ± 3 | 0.01 ± \\<0.001 |" in text
    assert "| nk:n=30,k=4,i=1 (nk:n=30,k=4,seed=1) | DAE-EDA |" in text


# Markdown


def columns(text: str) -> set[int]:
    """Count the cells of the lines of a table."""
    return {len(re.findall(r"(?<!\\)\|", line)) - 1 for line in text.splitlines() if line.startswith("|")}


def test_markdown_has_the_same_columns_in_each_line() -> None:
    assert columns(markdown(special_rows(confirm=0))) == {8}
    assert columns(markdown(special_rows())) == {10}
    assert columns(markdown(special_rows(), published=published())) == {14}
    assert columns(markdown([one_row(entry(), name=r"a|b\|c")])) == {8}


def test_markdown_has_all_there_is_to_say() -> None:
    text = markdown(special_rows(), published=published(), note="A *note*.")
    assert "| trap:k=4,n=20 | DAE-EDA | 1,000 (1 failed) | 12,004 ± 3 | 2,550 ± 1,150 | 0.021 ± \\<0.001 |" in text
    assert "| 18 ± 6.9 | 3/4: 13,002 ± 1 |" in text
    assert f"| 117 ± 26 | {OPEN} | {OPEN} | 8/9 at 100 | **1,850**\\* ± 382 | {OPEN} | 117 ± 26 |  |" in text
    assert "nk:n=30,k=4,i=1 (nk:n=30,k=4,seed=1)" in text
    assert "\n\nA *note*.\n\nMean ±" in text
    assert "measured with Octave on another machine in 2015." in text


def test_names_are_no_markdown() -> None:
    assert r"| a\_b\*c\[d\]\<e\>\`f\` g |" in markdown([one_row(entry(), name="a_b*c[d]<e>`f`\ng")])


# LaTeX

AWKWARD = r"_ & % # { } ~ ^ \ $ < > | -- --- `a' [x] *"
FOREIGN = "éèêñãüåçčěőşøßœłŠŽ «β» 漢 \U0001f600 e\u0301 ą µ №"


def body_lines(text: str) -> list[str]:
    """Give the lines below the headings."""
    return [line for line in text.splitlines() if line.endswith(r"\\") and "multicolumn" not in line]


def in_order(text: str) -> bool:
    """Say whether all braces that are not escaped are closed."""
    depth = 0
    for brace in re.findall(r"(?<!\\)(?:\\\\)*([{}])", text):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0


@pytest.mark.parametrize("name", ["plain", AWKWARD, *AWKWARD.split()])
def test_latex_is_well_formed_whatever_the_names(name: str) -> None:
    problem = StudyProblem(name=name, problem="trap:k=4,n=20")
    text = latex_document([*special_rows(), one_row(entry(), problem=problem, name=name)], note=name)
    assert in_order(text)
    assert {len(re.findall(r"(?<!\\)&", line)) for line in body_lines(text)} == {1 + 5 * len(LEVELS)}
    without = re.sub(r"\\[_&%#{}$]|\$\\(pm|geq)\$|^%.*$|^\\resizebox.*$", "", text, flags=re.MULTILINE)
    assert not re.search(r"[_%#~^$<>|]", without)


def test_headings_of_latex_span_all_columns() -> None:
    heading, names = [line for line in latex(special_rows()).splitlines() if "multicolumn" in line]
    for line in (heading, names):
        spans = sum(int(width) - 1 for width in re.findall(r"\\multicolumn\{(\d)\}", line))
        assert line.count("&") + spans == 1 + 5 * len(LEVELS)


def test_latex_escapes() -> None:
    text = latex([one_row(entry(), name=AWKWARD)])
    assert (
        r"\_ \& \% \# \{ \} \textasciitilde{} \textasciicircum{} \textbackslash{} \$ \textless{} \textgreater{} "
        r"\textbar{} -{}- -{}-{}- `a' {[}x{]} *"
    ) in text


def test_what_latex_does_not_know_is_shown_by_its_number() -> None:
    assert r"Müller, č, \texttt{U+03B2}, \texttt{U+6F22}" in latex([one_row(entry(), name="Müller, č, β, 漢")])


def test_latex_has_all_there_is_to_say() -> None:
    text = latex(special_rows(), published=published(), note="50 % made up.")
    assert text.splitlines()[0].startswith("% ")
    assert r"\usepackage{booktabs,graphicx}" in text.splitlines()[0]
    assert r"trap:k=4,n=20 & DAE-EDA & 1,000 & 12,004 & \,$\pm$3 & 0.021 &" in text
    assert r"\textit{paper} & \textit{\textbf{1,850*}} & \,$\pm$382 &" in text
    assert r"\textit{again 3/4}" in text
    assert "1 failed" in text
    assert r"1,004 & \,$\pm$3 \dots{} &" in text
    assert r"\textit{(nk:n=30,k=4,seed=1)\dag{}}" in text
    assert r"\textendash{} & \textendash{} &" in text
    assert r"\caption{50 \% made up. Mean $\pm$ standard deviation of 10 runs" in text


def test_a_long_table_takes_several_pages_and_splits_no_problem() -> None:
    problems = [StudyProblem(name=f"p{number}", problem="trap:k=4,n=20") for number in range(20)]
    rows = [one_row(entry(), problem=one, name=name) for one in problems for name in "abcdef"]
    pages = latex(rows).split(r"\begin{table*}")[1:]
    assert [len(body_lines(page)) for page in pages] == [60, 60]
    assert latex(rows).count(r"\caption{Continued.}") == 1


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex on this machine")
def test_latex_compiles(tmp_path: Path) -> None:
    awkward = one_row(entry(), problem=StudyProblem(name=AWKWARD, problem="some/where/score.py:f"), name=AWKWARD)
    foreign = one_row(entry(), problem=StudyProblem(name=FOREIGN, problem="trap:k=4,n=20"), name=FOREIGN)
    rows = [*special_rows(), awkward, foreign]
    path = tmp_path / "table.tex"
    path.write_text(latex_document(rows, published=published(), note=AWKWARD + FOREIGN), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", path.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    assert path.with_suffix(".pdf").is_file()


# For other programs


def test_flat_rows_have_the_same_keys() -> None:
    rows = flat_rows(special_rows(), published=published())
    assert len(rows) == 2 * 2 * len(LEVELS)
    assert {tuple(row) for row in rows} == {
        (
            *("problem", "spec", "algorithm", "level", "popsize", "unsettled", "runs", "solved", "failed", "complete"),
            "failed_at_any_size",
            *("evaluations", "evaluations_sd", "evaluations_star", "evaluations_p"),
            *("seconds", "seconds_sd", "seconds_star", "seconds_p"),
            *("confirmed_runs", "confirmed_solved", "confirmed_failed", "confirmed_complete"),
            *("confirmed_evaluations", "confirmed_evaluations_sd", "confirmed_seconds", "confirmed_seconds_sd"),
            *("published_evaluations", "published_evaluations_sd", "published_evaluations_star"),
            *("published_seconds", "published_seconds_sd", "published_seconds_star", "ratio"),
        )
    }
    json.dumps(rows, allow_nan=False)


def test_flat_rows_hold_the_numbers() -> None:
    first, _, boa, boa_90, nk, *_ = flat_rows(special_rows(), published=published())
    assert (first["problem"], first["algorithm"], first["level"], first["popsize"]) == (TRAP.name, "DAE-EDA", 50, 1000)
    assert (first["runs"], first["solved"], first["failed"], first["complete"]) == (10, 9, 1, True)
    assert (first["evaluations"], first["confirmed_runs"], first["confirmed_solved"]) == (12_004.0, 4, 3)
    assert (first["confirmed_evaluations"], first["published_evaluations"]) == (13_001.5, 2550.0)
    assert first["ratio"] == pytest.approx(12_004 / 2550)
    assert (first["evaluations_star"], first["seconds_star"]) == (False, False)
    assert (boa["complete"], boa["published_evaluations_star"]) == (False, True)
    assert (boa_90["popsize"], boa_90["unsettled"], boa_90["runs"]) == (None, Unsettled.OPEN.value, None)
    assert (boa_90["ratio"], boa_90["published_seconds"]) == (None, 117.0)
    assert (nk["spec"], nk["unsettled"], nk["confirmed_runs"]) == ("nk:n=30,k=4,seed=1", Unsettled.NONE.value, None)


def test_flat_rows_do_not_say_where_files_lie() -> None:
    problem = StudyProblem(name="mine", problem="some/where/score.py:f")
    assert flat_rows([one_row(entry(), problem=problem)])[0]["spec"] == "score.py:f"


def test_flat_rows_without_the_paper() -> None:
    assert {row["published_evaluations"] for row in flat_rows(special_rows())} == {None}
    assert {row["ratio"] for row in flat_rows(special_rows())} == {None}


def test_the_paper_is_no_measure_for_another_landscape() -> None:
    theirs = dataclasses.replace(NK, problem="nk:some/where/nk_30_4.1")
    for problem, comparable in ((TRAP, True), (NK, False), (theirs, True)):
        row = one_row(entry(), problem=problem)
        assert all((flat["ratio"] is not None) == comparable for flat in flat_rows([row], published=published()))
        for text in (shown(rich_table([row], published=published()), 200), markdown([row], published=published())):
            assert ("†" in text) != comparable
        assert (r"\dag{}" in latex([row], published=published())) != comparable
        assert "†" not in shown(rich_table([row]), 200)  # without the paper there is nothing to mark


def test_sizes_for_other_programs() -> None:
    rows = flat_sizes(STUDY, special_runs())
    first, second = rows[:2]
    assert (first["problem"], first["algorithm"], first["popsize"]) == (TRAP.name, "DAE-EDA", 100)
    assert (first["runs"], first["solved"], first["failed"], first["complete"]) == (10, 2, 0, True)
    assert (first["best"], first["evaluations"]) == (19.2, 1504.5)
    assert (second["failed"], second["best"], second["best_sd"]) == (1, 20.0, 0.0)
    assert len(rows) == 5
    assert len({tuple(row) for row in rows}) == 1
    json.dumps(rows, allow_nan=False)
    unjudged = {STUDY.cell(TRAP, DAE, 100).key: {0: Run(seed=0, status="done", success=None, best=3.5)}}
    assert flat_sizes(STUDY, unjudged)[0]["solved"] is None


def test_what_cannot_be_judged_is_not_called_unsolved() -> None:
    made = {seed: Run(seed=seed, status="done", success=None, best=1.0) for seed in STUDY.seeds}
    rows = analyse(STUDY, {STUDY.cell(TRAP, DAE, size).key: made for size in (100, 1000)})
    text = shown(rich_table(rows[:1]), 120)
    assert line_of(text, "trap") == "trap:k=4,n=20 DAE-EDA n/a n/a n/a n/a n/a n/a"
    assert "n/a no optimum or target is known" in text
    assert NONE not in text
    assert flat_rows(rows)[0]["unsettled"] == "no optimum or target is known"


def test_failures_are_seen_though_no_size_is_chosen() -> None:
    runs = {STUDY.cell(TRAP, DAE, size).key: failed({}, *STUDY.seeds) for size in (100, 1000)}
    rows = analyse(STUDY, runs)[:1]
    text = shown(rich_table(rows), 120)
    assert line_of(text, "20 failed") == "20 failed 20 failed"
    assert "failed: these runs ended with an error" in text
    assert f"| {NONE} (20 failed) |" in markdown(rows)
    assert [flat["failed_at_any_size"] for flat in flat_rows(rows)] == [20, 20]


@pytest.mark.parametrize(("runs", "possible"), [(7, False), (8, True)])
def test_the_legend_says_when_no_star_is_possible(runs: int, possible: bool) -> None:
    few = dataclasses.replace(effort(Measure(mean=5.0, sd=1.0), Measure(mean=5.0, sd=1.0)), runs=runs)
    text = shown(rich_table([one_row(Entry(choice=1000, effort=few))]), 200)
    assert ("significantly smaller" in text) == possible
    assert (f"With {runs} runs no difference can be significant" in text) != possible


def test_a_name_in_brackets_is_no_argument_of_latex() -> None:
    text = latex([one_row(entry(), problem=StudyProblem(name="[2cm] x", problem="trap:k=4,n=20"))])
    assert "\n{[}2cm{]} x & " in text


def test_with_holm_it_takes_more_runs() -> None:
    few = dataclasses.replace(effort(Measure(mean=5.0, sd=1.0), Measure(mean=5.0, sd=1.0)), runs=8)
    rows = [one_row(Entry(choice=1000, effort=few), name=name) for name in "abc"]
    assert "significantly smaller" in shown(rich_table(rows), 200)
    assert "With 8 runs no difference can be significant" in shown(rich_table(rows, correct=True), 200)
    failing = [one_row(Entry(choice=1000, effort=dataclasses.replace(few, failed=1)), name=name) for name in "ab"]
    assert "With 7 runs no difference can be significant" in shown(rich_table(failing), 200)

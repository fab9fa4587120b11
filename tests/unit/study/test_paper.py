"""The studies behind the paper's Table 1."""

from __future__ import annotations

import csv
import shutil
from importlib import resources
from pathlib import Path

import pytest

from daedal.problems.registry import find_problem
from daedal.study.paper import FIGURES, QUICK_PROBLEMS, table1
from daedal.study.spec import POPSIZES, Study


def names(study: Study) -> list[tuple[str, str]]:
    return [(problem.name, algorithm.name) for problem, algorithm in study.pairs()]


@pytest.fixture(scope="module")
def published() -> list[tuple[str, str]]:
    """The rows of the paper's own table, each with its two levels."""
    text = resources.files("daedal.study").joinpath("table1.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    pairs = [(row["problem"], row["algorithm"]) for row in rows]
    assert [int(row["success_percent"]) for row in rows] == [50, 90] * (len(rows) // 2)
    assert pairs[::2] == pairs[1::2]
    return pairs[::2]


def test_the_table_has_the_rows_of_the_paper_in_its_order(published: list[tuple[str, str]]) -> None:
    study = table1()
    assert (len(study.problems), len(study.algorithms)) == (16, 4)
    assert len(published) == 64
    assert names(study) == published


def test_the_procedure_is_the_papers() -> None:
    study = table1()
    assert (study.runs, study.seed, study.shuffle) == (20, 0, True)
    sizes = {algorithm.name: algorithm.popsizes for algorithm in study.algorithms}
    doubled = (32_000, 64_000, 128_000, 256_000, 512_000)
    assert sizes == dict.fromkeys(("DAE-EDA", "RBM-EDA", "BOA"), POPSIZES) | {"PBIL": POPSIZES + doubled}
    assert {one.name: one.algorithm.name for one in study.algorithms} == {
        "DAE-EDA": "dae-2015",
        "RBM-EDA": "rbm",
        "BOA": "boa",
        "PBIL": "pbil",
    }
    assert len({cell.key for cell in study.cells()}) == 16 * (3 * 9 + 14)


def test_every_name_says_what_the_problem_is() -> None:
    for problem in table1().problems:
        kind, _, rest = problem.name.partition(":")
        said = dict(part.split("=") for part in rest.split(","))
        made = find_problem(problem.problem)
        assert problem.problem.startswith(f"{kind}:")
        assert made.n == int(said["n"])
        if "k" in said:
            assert made.k == int(said["k"])  # type: ignore[attr-defined]


def test_quick_is_a_part_of_the_table() -> None:
    quick, full = table1(quick=True), table1()
    assert [problem.name for problem in quick.problems] == list(QUICK_PROBLEMS)
    assert [algorithm.name for algorithm in quick.algorithms] == ["DAE-EDA", "BOA", "PBIL"]
    assert quick.runs == 10
    assert max(quick.algorithms[2].popsizes) == 64_000
    assert {cell.key for cell in quick.cells()} < {cell.key for cell in full.cells()}  # its runs serve for both
    assert set(quick.seeds) < set(full.seeds)
    other = table1(quick=True, problems=["hiff"], algorithms=["rbm"], runs=3, max_popsize=100)
    assert names(other) == [("hiff:n=64", "RBM-EDA"), ("hiff:n=128", "RBM-EDA")]  # whatever is named goes before
    assert (other.runs, other.algorithms[0].popsizes) == (3, (50, 100))


@pytest.mark.parametrize(
    ("given", "count"),
    [
        (["nk"], 8),
        (["trap"], 6),
        (["hiff"], 2),
        (["nk:n=30,k=4,i=1"], 1),
        (["hiff:n=64", "trap:k=4,n=20"], 2),
        (["hiff", "hiff:n=64"], 2),
        (["nk", "trap", "hiff"], 16),
    ],
)
def test_problems_are_named_singly_or_by_kind(given: list[str], count: int) -> None:
    found = [problem.name for problem in table1(problems=given).problems]
    assert len(found) == count
    assert found == [
        problem.name
        for problem in table1().problems
        if problem.name in given or problem.name.partition(":")[0] in given  # in the order of the table
    ]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (["DAE-EDA"], ["DAE-EDA"]),
        (["dae-eda"], ["DAE-EDA"]),
        (["dae"], ["DAE-EDA"]),
        (["dae-2015"], ["DAE-EDA"]),
        (["rbm", "dae"], ["DAE-EDA", "RBM-EDA"]),
        (["pbil", "PBIL", "boa"], ["BOA", "PBIL"]),
    ],
)
def test_algorithms_have_the_names_of_the_table_or_their_own(given: list[str], found: list[str]) -> None:
    assert [algorithm.name for algorithm in table1(algorithms=given).algorithms] == found


def test_what_the_table_does_not_have() -> None:
    with pytest.raises(ValueError, match=r"unknown problem of Table 1 'trap:k=4,n=21', did you mean 'trap:k=4,n=20'\?"):
        table1(problems=["hiff", "trap:k=4,n=21"])
    with pytest.raises(ValueError, match=r"unknown problem of Table 1 'onemax'. Known: hiff:n=128, hiff:n=64, nk"):
        table1(problems=["onemax"])
    with pytest.raises(ValueError, match=r"unknown algorithm of Table 1 'umda'. Known: BOA, DAE-EDA, PBIL, RBM-EDA"):
        table1(algorithms=["umda"])
    with pytest.raises(ValueError, match=r"expected a largest popsize of at least 50, the smallest of DAE-EDA, got 49"):
        table1(max_popsize=49)


def test_the_largest_size_is_for_all() -> None:
    study = table1(max_popsize=2000)
    assert {algorithm.popsizes for algorithm in study.algorithms} == {(50, 100, 250, 500, 1000, 2000)}
    assert table1(max_popsize=10**9) == table1()


def test_the_papers_landscape_stands_for_itself_alone(data_dir: Path, tmp_path: Path) -> None:
    plain, study = table1(), table1(nk_dir=data_dir / "nk")
    changed = [
        after for before, after in zip(plain.problems, study.problems, strict=True) if before.problem != after.problem
    ]
    assert [(problem.name, problem.problem) for problem in changed] == [
        ("nk:n=30,k=4,i=1", f"nk:{data_dir / 'nk' / 'nk_30_4.1'}")
    ]
    assert names(study) == names(plain)
    assert find_problem(changed[0].problem).n == 30
    shutil.copy(data_dir / "nk" / "nk_30_4.1", tmp_path)
    moved = table1(nk_dir=tmp_path)
    assert [cell.key for cell in moved.cells()] == [cell.key for cell in study.cells()]
    assert len({cell.key for cell in moved.cells()} - {cell.key for cell in plain.cells()}) == 3 * 9 + 14


def test_a_folder_without_landscapes_is_refused_as_a_missing_one_is(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "gone"):
        with pytest.raises(
            ValueError, match=r"expected a folder with NK landscapes such as nk_30_4\.1 at .*found none"
        ):
            table1(nk_dir=folder)
    (tmp_path / "nk_99_9.1").touch()  # of no row of the table
    assert table1(nk_dir=tmp_path) == table1()


def test_the_problems_of_the_figures_are_in_the_table() -> None:
    assert [problem.name for problem in table1(problems=FIGURES).problems] == list(FIGURES)


def test_parameters_may_be_in_any_order() -> None:
    names = [problem.name for problem in table1(problems=["trap:n=20, k=4", "nk:i=2,k=5,n=34"]).problems]
    assert names == ["trap:k=4,n=20", "nk:n=34,k=5,i=2"]

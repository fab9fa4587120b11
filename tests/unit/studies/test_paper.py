"""The studies behind the paper's Table 1, and its published numbers."""

from __future__ import annotations

import csv
import shutil
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from daedal.problems import NK, write_nk
from daedal.problems.registry import find_problem
from daedal.studies.analysis import Measure
from daedal.studies.paper import FIGURES, QUICK_PROBLEMS, Published, published, table1
from daedal.studies.plan import LEVELS
from daedal.studies.spec import POPSIZES, Study


def names(study: Study) -> list[tuple[str, str]]:
    return [(problem.name, algorithm.name) for problem, algorithm in study.pairs()]


def keys(study: Study) -> set[str]:
    return {cell.key for cell in study.cells()}


def test_the_table_has_the_rows_of_the_paper_in_its_order() -> None:
    text = resources.files("daedal.studies").joinpath("table1.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    published = [(row["problem"], row["algorithm"]) for row in rows]
    assert [int(row["success_percent"]) for row in rows] == [50, 90] * (len(rows) // 2)
    assert published[::2] == published[1::2] == names(table1())
    assert (len(table1().problems), len(table1().algorithms)) == (16, 4)


def test_the_procedure_is_the_papers() -> None:
    study = table1()
    assert (study.runs, study.seed, study.shuffle) == (20, 0, True)
    doubled = (32_000, 64_000, 128_000, 256_000, 512_000)
    assert [(one.name, one.algorithm.name, one.popsizes) for one in study.algorithms] == [
        ("DAE-EDA", "dae-2015", POPSIZES),
        ("RBM-EDA", "rbm", POPSIZES),
        ("BOA", "boa", POPSIZES),
        ("PBIL", "pbil", POPSIZES + doubled),
    ]
    assert len(keys(study)) == 16 * (3 * 9 + 14)
    small = table1(max_popsize=2000)
    assert {algorithm.popsizes for algorithm in small.algorithms} == {(50, 100, 250, 500, 1000, 2000)}
    assert table1(max_popsize=10**9) == study


def test_every_name_says_what_the_problem_is() -> None:
    for problem in table1().problems:
        kind, _, rest = problem.name.partition(":")
        said = dict(part.split("=") for part in rest.split(","))
        made = find_problem(problem.problem)
        assert problem.problem.startswith(f"{kind}:")
        assert made.n == int(said["n"])
        assert "k" not in said or made.k == int(said["k"])  # type: ignore[attr-defined]


def test_quick_is_a_part_of_the_table() -> None:
    quick, full = table1(quick=True), table1()
    assert [problem.name for problem in quick.problems] == list(QUICK_PROBLEMS)
    assert [algorithm.name for algorithm in quick.algorithms] == ["DAE-EDA", "BOA", "PBIL"]
    assert (quick.runs, max(quick.algorithms[2].popsizes)) == (10, 64_000)
    assert keys(quick) < keys(full)  # its runs serve for both
    assert set(quick.seeds) < set(full.seeds)
    other = table1(quick=True, problems=["hiff"], algorithms=["rbm"], runs=3, max_popsize=100)
    assert names(other) == [("hiff:n=64", "RBM-EDA"), ("hiff:n=128", "RBM-EDA")]  # whatever is named goes before
    assert (other.runs, other.algorithms[0].popsizes) == (3, (50, 100))


NAMED = {
    "nk": 8,
    "trap": 6,
    "nk:n=30,k=4,i=1": 1,
    "hiff:n=64 trap:k=4,n=20": 2,
    "hiff hiff:n=64": 2,
    "nk trap hiff": 16,
}


@pytest.mark.parametrize(("words", "count"), [*NAMED.items(), (" ".join(FIGURES), 2)])
def test_problems_are_named_singly_or_by_kind(words: str, count: int) -> None:
    given = words.split()
    found = [problem.name for problem in table1(problems=given).problems]
    assert len(found) == count
    whole = [problem.name for problem in table1().problems]
    assert found == [name for name in whole if name in given or name.partition(":")[0] in given]  # in its order


def test_names_of_the_table_may_be_written_otherwise() -> None:
    other = {"dae-eda": "DAE-EDA", "dae": "DAE-EDA", "dae-2015": "DAE-EDA", "rbm dae": "DAE-EDA RBM-EDA"}
    for given, found in (other | {"pbil PBIL boa": "BOA PBIL"}).items():
        assert [one.name for one in table1(algorithms=given.split()).algorithms] == found.split()
    assert [one.name for one in table1(problems=["TRAP:k=4, n=20"]).problems] == ["trap:k=4,n=20"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"problems": ["hiff", "trap:k=4,n=21"]}, "'trap:k=4,n=21', did you mean 'trap:k=4,n=20'"),
        ({"problems": ["onemax"]}, "'onemax'. Known: hiff:n=128, hiff:n=64, nk"),
        ({"algorithms": ["boaa"]}, r"'boaa', did you mean 'BOA'\? Known: BOA, DAE-EDA, PBIL, RBM-EDA"),
        ({"max_popsize": 49}, "smallest popsize of DAE-EDA is 50, got at most 49"),
        ({"runs": 0}, "runs"),
    ],
)
def test_what_the_table_does_not_have(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        table1(**given)


def test_the_papers_landscape_stands_for_itself_alone(data_dir: Path, tmp_path: Path) -> None:
    plain, study = table1(), table1(nk_dir=data_dir / "nk")
    changed = [one for one, before in zip(study.problems, plain.problems, strict=True) if one.problem != before.problem]
    assert [(one.name, one.problem) for one in changed] == [("nk:n=30,k=4,i=1", f"nk:{data_dir / 'nk' / 'nk_30_4.1'}")]
    assert names(study) == names(plain)
    assert find_problem(changed[0].problem).n == 30
    shutil.copy(data_dir / "nk" / "nk_30_4.1", tmp_path)
    assert keys(table1(nk_dir=tmp_path)) == keys(study)
    assert len(keys(study) - keys(plain)) == 3 * 9 + 14


def test_a_folder_without_landscapes_or_with_others_is_refused(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "gone"):
        with pytest.raises(ValueError, match=r"NK landscapes such as nk_30_4\.1"):
            table1(nk_dir=folder)
    (tmp_path / "nk_99_9.1").touch()  # of no row of the table
    assert table1(nk_dir=tmp_path) == table1()
    path = tmp_path / "nk_30_4.1"
    path.write_text("garbage\n")
    with pytest.raises(ValueError, match=f"{path}, line 1: "):
        table1(nk_dir=tmp_path)
    path.unlink()  # which stays as it is, otherwise
    write_nk(NK.random(20, 2, 1), path)
    with pytest.raises(ValueError, match=f"{path} has n=20, k=2, not n=30, k=4"):
        table1(nk_dir=tmp_path)


# Published numbers


def test_it_has_every_problem_and_algorithm_of_the_study_at_both_levels() -> None:
    assert set(published()) == {(problem.name, algorithm.name) for problem, algorithm in table1().pairs()}
    assert len(published()) == 16 * 4
    assert all(tuple(levels) == LEVELS for levels in published().values())


@pytest.mark.parametrize(
    ("problem", "algorithm", "level", "evaluations", "seconds"),
    [
        ("trap:k=4,n=20", "DAE-EDA", 50, (2550, 1150, False), (18, 6.9, False)),
        ("trap:k=4,n=20", "PBIL", 90, (71_200, 31_688, False), (0.0, 0.4, True)),
        ("trap:k=4,n=60", "PBIL", 50, (71_884_800, 19_416_482, False), (1229, 380, False)),
        ("trap:k=5,n=75", "BOA", 90, (132_400, 9952, True), (145_026, 18_865, False)),
        ("nk:n=34,k=4,i=2", "DAE-EDA", 50, (26_950, 8176, True), (99, 23, False)),
        ("nk:n=30,k=5,i=1", "RBM-EDA", 50, (7525, 1847, True), (56, 20, False)),
        ("nk:n=34,k=5,i=1", "DAE-EDA", 90, (309_600, 88_692, False), (455, 136, True)),
        ("hiff:n=128", "RBM-EDA", 90, (966_400, 85_026, False), (25_462, 1997, False)),
    ],
)
def test_numbers(
    problem: str,
    algorithm: str,
    level: int,
    evaluations: tuple[float, float, bool],
    seconds: tuple[float, float, bool],
) -> None:
    expected = Published(evaluations_to_best=measure(*evaluations), cpu_seconds_to_best=measure(*seconds))
    assert published()[problem, algorithm][level] == expected


def measure(mean: float, sd: float, star: bool) -> Measure:
    return Measure(mean=mean, sd=sd, star=star)

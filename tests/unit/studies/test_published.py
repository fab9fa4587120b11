"""The paper's numbers, against some typed from its Table 1."""

from __future__ import annotations

import pytest

from daedal.studies.analysis import Measure
from daedal.studies.paper import Published, is_theirs, published, table1
from daedal.studies.plan import LEVELS
from daedal.studies.spec import StudyProblem


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


def test_only_pbil_is_ever_without_an_answer() -> None:
    without = [(*key, level) for key, levels in published().items() for level in levels if levels[level] is None]
    assert {algorithm for _, algorithm, _ in without} == {"PBIL"}
    assert len([one for one in without if one[2] == 50]) == 6
    assert len([one for one in without if one[2] == 90]) == 11


def test_no_two_algorithms_of_a_cell_have_a_star() -> None:
    for problem in {name for name, _ in published()}:
        for level in LEVELS:
            numbers = [levels[level] for (name, _), levels in published().items() if name == problem]
            found = [one for one in numbers if one is not None]
            assert sum(one.evaluations_to_best.star for one in found) <= 1
            assert sum(one.cpu_seconds_to_best.star for one in found) <= 1


@pytest.mark.parametrize(
    ("problem", "theirs"),
    [
        ("trap:k=4,n=20", True),
        ("nk:n=30,k=4, seed = 2", False),
        ("nk:some/seed=3/nk_30_4.1", True),
        ("cmd:./score --seed=3", True),
        ("score.py:f", True),
    ],
)
def test_only_a_drawn_landscape_is_not_the_papers_own(problem: str, theirs: bool) -> None:
    assert is_theirs(StudyProblem(name="x", problem=problem)) == theirs

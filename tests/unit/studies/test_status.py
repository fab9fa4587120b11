"""How far a study is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from daedal.studies.plan import CellStatus, Status, study_status
from daedal.studies.spec import Study
from daedal.studies.store import DONE, FAILED, KILLED, Run

Runs = dict[str, dict[int, Run]]
BASE: dict[str, Any] = {"problems": ["onemax:n=8"], "algorithms": ["umda"], "popsizes": [20, 50], "runs": 4}


def study(**changes: Any) -> Study:
    return Study.from_dict(BASE | changes)


def fill(
    runs: Runs, one: Study, popsize: int | None, story: str, *, error: str = "oh", algorithm: int = 0, first: int = 0
) -> None:
    """Write the runs of a cell, a letter a seed: solved +, not -, failed x, killed k, not run ."""
    cell = one.cell(one.problems[0], one.algorithms[algorithm], popsize)
    for seed, letter in enumerate(story, start=first):
        status = {"x": FAILED, "k": KILLED}.get(letter, DONE)
        if letter != ".":
            run = Run(seed=seed, status=status, success=letter == "+", error=None if status == DONE else error)
            runs.setdefault(cell.key, {})[seed] = run


def lines(status: Status) -> list[tuple[int | None, int, int, int | None, int]]:
    return [(cell.popsize, cell.done, cell.failed, cell.solved, cell.left) for cell in status.cells]


def test_a_study_from_before_its_first_run_to_its_end() -> None:
    two = study(problems=["onemax:n=8", "trap:k=4,n=8"])
    status = study_status(two, {})
    # three of four are certain: were they all failures, 50 % would be out of reach
    assert status.cells == tuple(
        CellStatus(problem=problem, algorithm="umda", popsize=20, done=0, failed=0, killed=0, solved=0, left=3)
        for problem in ("onemax:n=8", "trap:k=4,n=8")
    )
    assert (status.errors, status.total("left")) == ({}, 6)
    one, runs = study(), {}
    fill(runs, one, 20, "-+x.")
    assert lines(study_status(one, runs)) == [(20, 2, 1, 1, 1)]
    fill(runs, one, 20, "-+x+")
    assert lines(study_status(one, runs)) == [(20, 3, 1, 2, 0), (50, 0, 0, 0, 1)]  # 90 % of 4 are all 4
    fill(runs, one, 50, "++")
    assert lines(study_status(one, runs)) == [(20, 3, 1, 2, 0), (50, 2, 0, 2, 1)]
    fill(runs, one, 50, "++++")
    status = study_status(one, runs)
    assert lines(status) == [(20, 3, 1, 2, 0), (50, 4, 0, 4, 0)]
    assert [status.total(name) for name in ("done", "failed", "solved", "left")] == [7, 1, 6, 0]


def test_sizes_that_nobody_needed_and_runs_of_other_studies_are_left_out() -> None:
    one, runs = study(), {}
    fill(runs, one, 20, "++++xx")  # another one had six runs
    status = study_status(one, runs)
    assert (lines(status), status.errors) == ([(20, 4, 0, 4, 0)], {})
    assert lines(study_status(one, runs, full_grid=True)) == [(20, 4, 0, 4, 0), (50, 0, 0, 0, 4)]


def test_confirming_runs_are_left_once_a_size_is_chosen() -> None:
    one, runs = study(), {}
    assert study_status(one, runs, confirm=5).total("left") == 3
    fill(runs, one, 20, "++++")
    assert lines(study_status(one, runs, confirm=5)) == [(20, 4, 0, 4, 5)]
    fill(runs, one, 20, "+-", first=one.fresh_seeds(1)[0])
    assert lines(study_status(one, runs, confirm=5)) == [(20, 6, 0, 5, 3)]
    assert lines(study_status(one, runs, confirm=2)) == [(20, 6, 0, 5, 0)]
    assert lines(study_status(one, runs)) == [(20, 4, 0, 4, 0)]


def test_each_error_is_counted_the_most_frequent_first() -> None:
    one, runs = study(algorithms=["umda", "pbil"]), {}
    fill(runs, one, 20, "x+..", error="rare")
    fill(runs, one, 20, "x-k-", error="frequent", algorithm=1)
    status = study_status(one, runs)
    assert list(status.errors.items()) == [("frequent", 2), ("rare", 1)]
    assert (status.total("failed"), status.total("killed")) == (2, 1)


def test_what_was_killed_is_left_to_do() -> None:
    """As it is run again without being asked for; what has failed is not."""
    one, runs = study(popsizes=[20]), {}
    fill(runs, one, 20, "+++x")
    assert lines(study_status(one, runs)) == [(20, 3, 1, 3, 0)]
    fill(runs, one, 20, "+++k")
    assert lines(study_status(one, runs)) == [(20, 3, 0, 3, 1)]
    assert study_status(one, runs).total("killed") == 1


def test_two_names_of_one_thing_count_once() -> None:
    twice = [{"name": name, "problem": "onemax:n=8"} for name in ("one", "other")]
    one, runs = study(problems=twice, popsizes=[20]), {}
    fill(runs, one, 20, "++x-")
    status = study_status(one, runs)
    assert lines(status) == [(20, 3, 1, 2, 0)] * 2
    assert (status.total("done"), status.total("failed"), status.errors) == (3, 1, {"oh": 1})


def test_who_cannot_tell_does_not_count_and_who_has_no_population_does(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("async def climb(f, *, n, rng):\n    raise ValueError\n")
    one = Study.from_dict(BASE | {"algorithms": ["mine.py:climb"]}, folder=tmp_path)
    runs: Runs = {}
    assert lines(study_status(one, runs)) == [(None, 0, 0, 0, 3)]
    fill(runs, one, None, "-")
    runs[one.cells()[0].key][0].success = None
    assert lines(study_status(one, runs)) == [(None, 1, 0, None, 3)]
    fill(runs, one, None, "++++")
    assert lines(study_status(one, runs, confirm=2)) == [(None, 4, 0, 4, 2)]


def test_with_budgets_every_run_is_needed_and_what_was_killed_is_made_again() -> None:
    one, runs = study(popsizes=[20], budgets=[100, 300]), {}
    small, large = one.cells()
    assert [(cell.budget, cell.popsize, cell.left) for cell in study_status(one, {}).cells] == [
        (100, 20, 4),
        (300, 20, 4),
    ]
    for cell, story in ((small, "--x"), (large, "+k--")):
        for seed, letter in enumerate(story):
            status = {"x": FAILED, "k": KILLED}.get(letter, DONE)
            runs.setdefault(cell.key, {})[seed] = Run(seed=seed, status=status, success=letter == "+")
    status = study_status(one, runs)
    assert [(cell.done, cell.failed, cell.killed, cell.left) for cell in status.cells] == [(2, 1, 0, 1), (3, 0, 1, 1)]
    assert status.total("left") == 2

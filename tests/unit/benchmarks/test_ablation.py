"""What the tables of benchmarks/ablation.py count, on runs made up for it; that a store goes on; what variants set."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

import ablation
from ablation import Job, Run
from ablation_variants import BASE, BEFORE, CASES, QUESTIONS, settings_of
from daedal.models import DAE
from daedal.searches.presets import find_algorithm


def made_up(job: Job, *, evaluations: int, seconds: float, solved: bool = True) -> Run:
    return Run(*job.key, solved, 1.0, evaluations, evaluations + 100, 9, seconds, 2 * seconds, 40.0)


def test_every_variant_can_be_built() -> None:
    dae = find_algorithm("dae")
    for variants in QUESTIONS.values():
        for changes in variants.values():
            for case in CASES.values():
                settings: dict[str, Any] = settings_of(changes, case.n)
                assert dae.with_settings(settings).configuration.build(n=case.n, seed=1) is not None


def test_the_baseline_says_all_that_can_be_said_of_a_network() -> None:
    """So that a table means the same whatever the defaults become."""
    later = {"backend", "device"}  # where it is computed
    assert {field.name for field in dataclasses.fields(DAE)} - later == BEFORE.keys()


def test_sizes_are_of_the_problem() -> None:
    assert settings_of({"hidden": "{n},{half},{quarter}"}, 64) == {**BASE, "hidden": "64,32,16"}
    deep = {**BEFORE, "hidden": "{double}", "tied": False}
    assert Job(deep, "hiff_64", 10, 3).key == ("hidden=128 tied=False", "hiff_64", 10, 3)
    assert Job(BEFORE, "hiff_64", 10, 3).key == ("before", "hiff_64", 10, 3)


def test_what_is_in_the_store_is_not_run_again(tmp_path: Path) -> None:
    store = tmp_path / "runs.csv"
    jobs = [Job({"max_epochs": 5}, "trap5_25", 20, seed) for seed in (0, 1)]
    ablation.make(jobs[:1], store, 1)
    first = store.read_text(encoding="utf-8")
    ablation.make(jobs, store, 1)
    assert store.read_text(encoding="utf-8").startswith(first)
    assert list(ablation.read(store)) == [job.key for job in jobs]
    written = store.read_text(encoding="utf-8")
    ablation.make(jobs, store, 1)
    assert store.read_text(encoding="utf-8") == written
    again = ablation.run(jobs[1])
    stored = ablation.read(store)[jobs[1].key]
    assert (again.best, again.evaluations, again.epochs) == (stored.best, stored.evaluations, stored.epochs)


def test_a_ratio_is_of_solved_runs_on_the_same_seeds() -> None:
    """Every run takes half of what it did on the same seed, however much that is: no sample says otherwise."""
    seeds = range(20)
    baseline = [made_up(Job({}, "hiff_64", 10, s), evaluations=1000 * (s + 1), seconds=1.0) for s in seeds]
    half = [made_up(Job({"tied": False}, "hiff_64", 10, s), evaluations=500 * (s + 1), seconds=1.0) for s in seeds]
    assert ablation.ratio(half, baseline, "evaluations_to_best") == pytest.approx((0.5, 0.5, 0.5))
    assert ablation.cell(half, baseline) == "20/20, **0.50**, 1.00"
    failed = [dataclasses.replace(one, solved=False) for one in half]
    assert ablation.ratio(failed, baseline, "evaluations_to_best") is None
    assert ablation.cell(failed, baseline) == "0/20, -, -"
    some = [dataclasses.replace(one, solved=one.seed < 10) for one in half]
    found = ablation.ratio(some, baseline, "evaluations_to_best")
    assert found is not None
    assert found[0] == pytest.approx(500 * 5.5 / (1000 * 10.5))
    assert found[1] < found[0] < found[2]


@pytest.mark.parametrize(
    ("a", "runs", "b", "others"), [(20, 20, 20, 20), (0, 20, 20, 20), (13, 20, 19, 20), (3, 4, 0, 9)]
)
def test_fishers_test(a: int, runs: int, b: int, others: int) -> None:
    expected = stats.fisher_exact([[a, runs - a], [b, others - b]]).pvalue
    assert ablation.fisher(a, runs, b, others) == pytest.approx(expected)


def test_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    name, changes = next(iter(QUESTIONS["cost"].items()))
    known = {}
    for seed in range(4):
        for variant, evaluations, solved in (({}, 1000, True), (changes, 3000, seed > 0)):
            job = Job(variant, "hiff_64", 1000, seed)
            known[job.key] = made_up(job, evaluations=evaluations, seconds=1.5, solved=solved)
    ablation.table("cost", "hiff_64", 1000, [0, 1, 2, 3], known)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2] == "| baseline | 4/4 | 1,000 | 1.50 | 3.00 | 40 | 1 | 1 |  |"
    assert lines[-1] == f"| {name} | 3/4 | 3,000 | 1.50 | 4.00 | 40 | 3.00 [3.00, 3.00] | 1.00 [1.00, 1.00] | 1 |"


def test_seeds() -> None:
    assert ablation.numbers("3-6") == [3, 4, 5, 6]
    assert ablation.numbers("3,7") == [3, 7]

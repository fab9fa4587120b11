"""Runs what a study needs: the same rows for any number of workers, and nothing twice or lost.

Most tests do without processes: `Inline` stands in for them and ends runs in any order. What only processes can do,
to die for instance, is tried with real ones, once for all tests.
"""

from __future__ import annotations

import multiprocessing
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from daedal.evaluation.failures import describe_error
from daedal.evaluation.process_pool import Event, Message
from daedal.result import Result
from daedal.study import runner
from daedal.study.analysis import analyse
from daedal.study.comparison import Job
from daedal.study.plan import Settled, needed_runs
from daedal.study.run import DONE, FAILED, KILLED, Run
from daedal.study.runner import Order, Progress, _alone, run_study
from daedal.study.spec import Study
from daedal.study.status import study_status
from daedal.study.store import Store

BASE: dict[str, Any] = {
    "problems": ["onemax:n=12", "trap:k=4,n=8"],
    "algorithms": ["umda", "pbil"],
    "popsizes": [20, 50],
    "runs": 4,
    "limits": {"max_generations": 8},
}
TIMES = {"cpu_seconds", "cpu_seconds_to_best", "finished"}

Rows = list[dict[str, Any]]


def study(**changes: Any) -> Study:
    return Study.from_dict(BASE | changes)


class Inline:
    """Workers that are no processes; of what is under way, anything may end next."""

    random = Random(0)
    made: list[Job]

    def __init__(self, count: int, function: Callable[[Job], Result]) -> None:
        self.count = count
        self.function = function
        self.under_way: list[tuple[int, Job]] = []

    def __enter__(self) -> Inline:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @property
    def size(self) -> int:
        return self.count

    @property
    def idle(self) -> int:
        return self.count - len(self.under_way)

    def start(self, ticket: int, job: Job) -> None:
        assert self.idle > 0
        self.under_way.append((ticket, job))

    def wait(self) -> list[Message]:
        ended = self.random.sample(self.under_way, self.random.randint(1, len(self.under_way)))
        self.under_way = [one for one in self.under_way if one not in ended]
        return [self.answer(ticket, job) for ticket, job in ended]

    def answer(self, ticket: int, job: Job) -> Message:
        self.made.append(job)
        try:
            return Message(ticket, Event.DONE, self.function(job))
        except Exception as error:  # noqa: BLE001  as workers do
            return Message(ticket, Event.RAISED, describe_error(error))


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """Without processes; the jobs that were run."""
    made: list[Job] = []
    monkeypatch.setattr(Inline, "made", made, raising=False)
    monkeypatch.setattr(runner, "ProcessPool", Inline)
    return made


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "results.db") as opened:
        yield opened


def timeless(store: Store) -> Rows:
    """All rows, in an order of their own, but for the clock."""
    rows = [{name: value for name, value in row.items() if name not in TIMES} for row in store.rows()]
    return sorted(rows, key=lambda row: (row["content"], row["seed"]))


def made_of(jobs: list[Job]) -> set[tuple[str, str, int | None, int]]:
    """What was run, each once."""
    found = [(str(job.objective), job.algorithm.name, job.popsize, job.seed) for job in jobs]
    assert len(found) == len(set(found))
    return set(found)


def of_store(store: Store) -> set[tuple[str, str, int | None, int]]:
    return {(row["problem"], row["algorithm"], row["popsize"], row["seed"]) for row in store.rows()}


def statuses(store: Store) -> dict[str, str]:
    return {row["problem"]: row["status"] for row in store.rows()}


# Any number of workers


@pytest.fixture(scope="module")
def with_processes(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Rows]:
    """The rows that one and two real workers write."""
    rows = {}
    for workers in (1, 2):
        with Store(tmp_path_factory.mktemp("workers") / f"{workers}.db") as opened:
            progress = run_study(study(), opened, Order(workers=workers))
            rows[workers] = timeless(opened)
            assert progress.done == len(rows[workers])
            assert not +progress.ahead
    return rows


def test_one_and_two_workers_write_the_same_rows(with_processes: dict[int, Rows]) -> None:
    assert with_processes[1] == with_processes[2]
    rows = with_processes[1]
    assert {row["status"] for row in rows} == {DONE}
    assert {row["success"] for row in rows} == {True, False}  # or the study would say nothing about stopping early
    assert 16 < len(rows) < 32  # more than one size, less than all


def test_the_rows_are_those_of_the_papers_procedure(
    with_processes: dict[int, Rows], inline: list[Job], store: Store
) -> None:
    """Every run of the grid is made, and then one by one revealed as the plan asks for them."""
    one = study()
    run_study(one, store, Order(full_grid=True))
    runs = store.runs()
    expected = set()
    for problem, algorithm in one.pairs():
        everything = {size: runs[one.cell(problem, algorithm, size).key] for size in algorithm.popsizes}
        known: dict[int, dict[int, bool | None]] = {}
        while needed := needed_runs(known, algorithm.popsizes, one.seeds):
            popsize, seed = needed[0]
            known.setdefault(popsize, {})[seed] = everything[popsize][seed].success
            expected.add((problem.name, algorithm.name, popsize, seed))
    rows = with_processes[1]
    assert {(row["problem"], row["algorithm"], row["popsize"], row["seed"]) for row in rows} == expected
    assert [row for row in timeless(store) if row in rows] == rows  # and they are the same in a full grid


@pytest.mark.parametrize("workers", [1, 2, 3, 7, 100])
def test_the_order_in_which_runs_end_changes_nothing(
    with_processes: dict[int, Rows], inline: list[Job], store: Store, workers: int
) -> None:
    run_study(study(), store, Order(workers=workers))
    assert timeless(store) == with_processes[1]
    assert made_of(inline) == of_store(store)


def test_small_populations_come_first_and_all_pairs_in_turn(inline: list[Job], store: Store) -> None:
    run_study(study(), store, Order(full_grid=True))
    assert [job.popsize for job in inline] == [20] * 16 + [50] * 16
    first = [(job.objective, job.algorithm.name, job.seed) for job in inline[:8]]
    assert first == [
        (problem, algorithm, seed)
        for seed in (0, 1)
        for problem in ("onemax:n=12", "trap:k=4,n=8")
        for algorithm in ("umda", "pbil")
    ]


# Nothing twice


def test_a_second_run_makes_nothing_and_starts_nobody(
    inline: list[Job], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_study(study(), store, Order(workers=2))
    rows, count = list(store.rows()), len(inline)
    monkeypatch.setattr(runner, "ProcessPool", None)
    progress = run_study(study(), store, Order(workers=2))
    assert (progress.done, progress.found) == (0, count)
    assert list(store.rows()) == rows


@pytest.mark.parametrize(
    "more",
    [
        {"problems": ["trap:k=4,n=8", "onemax:n=9", "onemax:n=12"]},
        {"algorithms": [{"algorithm": "pbil", "settings": {"learning_rate": 0.1}, "name": "fast"}, "umda", "pbil"]},
        {"runs": 6},
        {"popsizes": [10, 20, 50]},
        {"popsizes": [20, 50, 100]},
        {"seed": 2},
    ],
    ids=lambda more: next(iter(more)),
)
def test_what_is_added_is_all_that_is_run(
    inline: list[Job], store: Store, tmp_path: Path, more: dict[str, Any]
) -> None:
    """And it is what a study of this size would have run from the beginning, without what was there."""
    run_study(study(), store, Order(workers=2))
    before, rows = pairs(store), list(store.rows())
    inline.clear()
    larger = study(**more)
    progress = run_study(larger, store, Order(workers=3))
    made = pairs(store) - before
    assert progress.done == len(inline) == len(made) > 0
    assert list(store.rows())[: len(rows)] == rows
    with Store(tmp_path / "at once.db") as fresh:
        run_study(larger, fresh, Order())
        assert made == pairs(fresh) - before


def pairs(store: Store) -> set[tuple[str, int]]:
    return {(key, seed) for key, runs in store.runs().items() for seed in runs}


def test_a_study_that_is_a_part_of_another_needs_nothing(inline: list[Job], store: Store) -> None:
    run_study(study(), store, Order(full_grid=True))
    inline.clear()
    run_study(study(problems=["onemax:n=12"], popsizes=[50], runs=3), store, Order())
    assert inline == []


def test_two_names_for_one_thing_are_run_once_and_both_to_the_end(inline: list[Job], store: Store) -> None:
    twins = study(
        problems=["onemax:n=12"],
        algorithms=[
            {"name": "one", "algorithm": "umda", "popsizes": [2, 200]},
            {"name": "other", "algorithm": "umda", "popsizes": [2, 300]},
        ],
    )
    run_study(twins, store, Order())
    assert len(made_of(inline)) == len(store)
    assert {job.popsize for job in inline} == {2, 200, 300}
    assert study_status(twins, store.runs()).total("left") == 0


# Orders


def test_the_full_grid_is_everything(inline: list[Job], store: Store) -> None:
    run_study(study(), store, Order(workers=2, full_grid=True))
    assert made_of(inline) == {
        (cell.problem.problem, cell.algorithm.name, cell.popsize, seed) for cell in study().cells() for seed in range(4)
    }
    assert store.study()[1:] == (0, True)


def test_choices_are_confirmed_with_seeds_that_took_no_part(inline: list[Job], store: Store) -> None:
    one = study()
    run_study(one, store, Order(workers=2))
    chosen = {
        (row.problem.problem, row.algorithm.name, entry.choice.popsize)
        for row in analyse(one, store.runs())
        for entry in row.entries.values()
        if isinstance(entry.choice, Settled)
    }
    assert chosen
    inline.clear()
    run_study(one, store, Order(workers=2, confirm=3))
    assert made_of(inline) == {(*each, seed) for each in chosen for seed in one.fresh_seeds(3)}
    assert not set(one.seeds) & {job.seed for job in inline}
    rows = analyse(one, store.runs(), confirm=3)
    assert {entry.confirmed.runs for row in rows for entry in row.entries.values() if entry.confirmed is not None} == {
        3
    }
    assert store.study()[1:] == (3, False)
    inline.clear()
    run_study(one, store, Order(confirm=5))
    assert {job.seed for job in inline} == set(one.fresh_seeds(5)) - set(one.fresh_seeds(3))


def test_confirmed_at_once_is_the_same_as_confirmed_later(inline: list[Job], store: Store, tmp_path: Path) -> None:
    run_study(study(), store, Order(workers=3, confirm=2))
    with Store(tmp_path / "later.db") as later:
        run_study(study(), later, Order())
        run_study(study(), later, Order(confirm=2))
        assert timeless(later) == timeless(store)


def test_the_store_knows_its_study(inline: list[Job], store: Store) -> None:
    run_study(study(), store, Order())
    known, confirm, full_grid = store.study()
    assert [cell.key for cell in known.cells()] == [cell.key for cell in study().cells()]
    assert (known.runs, confirm, full_grid) == (4, 0, False)
    inline.clear()
    run_study(known, store, Order())  # so that it can be gone on with without its file
    assert inline == []


# What watchers see


class Watching:
    def __init__(self, act: Callable[[Progress], None] = lambda progress: None) -> None:
        self.act = act
        self.seen: list[tuple[int, int, int, int]] = []

    def update(self, progress: Progress) -> None:
        self.seen.append((progress.done, progress.failed, progress.found, sum(progress.ahead.values())))
        self.act(progress)


def test_a_watcher_sees_every_step(inline: list[Job], store: Store) -> None:
    watcher = Watching()
    run_study(study(), store, Order(), watcher)
    assert watcher.seen[0] == (0, 0, 0, 12)  # three of each four are certain
    assert [done for done, *_ in watcher.seen] == list(range(len(store) + 1))
    assert watcher.seen[-1] == (len(store), 0, 0, 0)
    again = Watching()
    progress = run_study(study(), store, Order(), again)
    assert again.seen == [(0, 0, len(store), 0)]
    assert progress.runs == store.runs()


def test_what_a_watcher_sees_is_what_the_store_has(inline: list[Job], store: Store) -> None:
    def compare(progress: Progress) -> None:
        assert {key: runs for key, runs in progress.runs.items() if runs} == store.runs()

    run_study(study(), store, Order(workers=3), Watching(compare))


def test_the_time_that_is_left_by_hand() -> None:
    one = study(problems=["onemax:n=12"])
    small, large, other, _ = one.cells()  # 20 and 50 of umda, 20 of pbil
    progress = Progress(study=one, order=Order(), runs={}, workers=2)
    progress.ahead = Counter({small: 3, large: 2, other: 1})
    assert progress.seconds_left() is None  # nothing has ended yet
    ended = {
        seed: Run(seed=seed, status=DONE, success=True, total_seconds=seconds)
        for seed, seconds in enumerate((1.0, 3.0))
    }
    failed = {2: Run(seed=2, status=FAILED, success=False, error="no luck")}
    progress.runs = {small.key: ended | failed}
    # A run of 20 takes 2 s, one of 50 takes 2.5 times as long, and of pbil one expects the mean of both, 3.5 s.
    assert progress.seconds_left() == pytest.approx((3 * 2 + 2 * 5 + 3.5) / 2)
    progress.runs[large.key] = {0: Run(seed=0, status=DONE, success=True, total_seconds=10.0)}
    assert progress.seconds_left() == pytest.approx((3 * 2 + 2 * 10 + 6) / 2)
    progress.took[small.key] = [7.0, 9.0]  # on the clock, which goes before CPU time
    assert progress.seconds_left() == pytest.approx((3 * 8 + 2 * 10 + 9) / 2)
    progress.ahead = Counter({small: 0, large: 0})
    assert progress.seconds_left() is None


# Alone


def test_nobody_else_runs_a_study_with_the_same_store(inline: list[Job], store: Store) -> None:
    met: list[str] = []

    def try_too(_: Progress) -> None:
        with Store(store.path) as same:
            try:
                run_study(study(), same, Order())
            except ValueError as error:
                met.append(str(error))

    watcher = Watching(try_too)
    run_study(study(), store, Order(), watcher)
    assert len(met) == len(watcher.seen) > 1
    assert set(met) == {
        f"expected to run a study with {store.path} alone, but another process is doing so; wait for its end, or name "
        "another store"
    }
    assert len(made_of(inline)) == len(store)
    run_study(study(runs=5), store, Order())  # afterwards anybody can
    assert sorted(path.name for path in store.path.parent.glob("*.lock")) == []


def test_what_a_dead_process_has_left_keeps_nobody_away(inline: list[Job], store: Store) -> None:
    store.path.with_name("results.db.lock").touch()
    run_study(study(), store, Order())
    assert len(store) == len(inline) > 0


# Runs that go wrong

TROUBLE = """
import os, signal, time
from pathlib import Path

BAD = Path(__file__).with_name("bad")

def well(x):
    return x.sum(axis=1)

def raises(x):
    if BAD.exists():
        raise RuntimeError("no" + chr(10) + "luck")
    return well(x)

def exits(x):
    if BAD.exists():
        os._exit(3)
    return well(x)

def is_killed(x):
    if BAD.exists():
        os.kill(os.getpid(), signal.SIGKILL)
    return well(x)

def is_ended(x):
    if BAD.exists():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(100)
    return well(x)
"""


def trouble(folder: Path) -> Study:
    names = ("raises", "exits", "is_killed", "is_ended", "well")
    problems = [{"name": name, "problem": f"trouble.py:{name}", "n": 6, "target": 6} for name in names]
    given = {"problems": problems, "algorithms": ["umda"], "popsizes": [50], "runs": 1}
    return Study.from_dict(given, folder=folder)


@pytest.fixture(scope="module")
def after_trouble(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Progress]:
    """A store after a study with real processes, of which four came to a bad end."""
    folder = tmp_path_factory.mktemp("trouble")
    (folder / "trouble.py").write_text(TROUBLE)
    (folder / "bad").touch()
    with Store(folder / "results.db") as opened:
        progress = run_study(trouble(folder), opened, Order())
    (folder / "bad").unlink()
    return folder, progress


@pytest.fixture
def troubled(after_trouble: tuple[Path, Progress], tmp_path: Path) -> Iterator[tuple[Study, Store]]:
    """A copy of it, and nothing is bad any more."""
    shutil.copy(after_trouble[0] / "results.db", tmp_path / "copy.db")
    with Store(tmp_path / "copy.db", create=False) as opened:
        yield trouble(after_trouble[0]), opened


def test_runs_that_go_wrong_are_written_down_and_the_study_goes_on(
    troubled: tuple[Study, Store], after_trouble: tuple[Path, Progress]
) -> None:
    rows = {row["problem"]: row for row in troubled[1].rows()}
    assert list(rows) == ["raises", "exits", "is_killed", "is_ended", "well"]
    assert rows["raises"]["status"] == FAILED
    assert rows["raises"]["error"].startswith("ObjectiveError: the objective raised RuntimeError: no luck for the row")
    assert (rows["exits"]["status"], rows["exits"]["error"]) == (
        FAILED,
        "its process ended in the middle, with exit code 3",
    )
    assert (rows["is_killed"]["status"], rows["is_killed"]["error"]) == (KILLED, "its process was killed by SIGKILL")
    assert (rows["well"]["status"], rows["well"]["error"], rows["well"]["success"]) == (DONE, None, True)
    progress = after_trouble[1]
    assert (progress.done, progress.failed, progress.killed) == (5, 2, 2)


def test_a_process_that_is_asked_to_end_was_killed_from_outside(troubled: tuple[Study, Store]) -> None:
    """By the user, or a machine that shuts down: the run is not to blame, and is made again."""
    (row,) = (row for row in troubled[1].rows() if row["problem"] == "is_ended")
    assert (row["status"], row["error"]) == (KILLED, "its process was killed by SIGTERM")


def test_a_plain_second_run_makes_what_was_killed(troubled: tuple[Study, Store], inline: list[Job]) -> None:
    one, opened = troubled
    before = statuses(opened)
    killed = {name for name, status in before.items() if status == KILLED}
    assert "is_killed" in killed
    progress = run_study(one, opened, Order())
    assert {job.objective.spec.rpartition(":")[2] for job in inline} == killed  # type: ignore[union-attr]
    assert statuses(opened) == before | dict.fromkeys(killed, DONE)
    assert (progress.found, progress.done, progress.failed) == (5 - len(killed), len(killed), 0)


def test_what_has_failed_is_run_again_when_asked_for(troubled: tuple[Study, Store], inline: list[Job]) -> None:
    one, opened = troubled
    run_study(one, opened, Order(retry_failed=True))
    assert {job.objective.spec.rpartition(":")[2] for job in inline} == {  # type: ignore[union-attr]
        *("raises", "exits", "is_killed", "is_ended")
    }
    assert len(opened) == 5
    assert set(statuses(opened).values()) == {DONE}
    assert {row["error"] for row in opened.rows()} == {None}
    assert study_status(one, opened.runs()).errors == {}
    inline.clear()
    run_study(one, opened, Order(retry_failed=True))  # what ended well is not
    assert inline == []


def test_a_function_travels_without_its_file(tmp_path: Path) -> None:
    """To a machine of Dask's that does not have it."""
    pytest.importorskip("cloudpickle", reason="the extra parallel is not installed")
    file = tmp_path / "score.py"
    file.write_text(
        "import math\n\n\ndef weight(bit):\n    return bit * math.sqrt(4)\n\n\n"
        "def f(x):\n    return [sum(map(weight, row)) for row in x]\n"
    )
    given = {"problem": f"{file}:f", "n": 6, "target": 12}
    one = Study.from_dict({"problems": [given], "algorithms": ["umda"], "popsizes": [50], "runs": 1})
    work = runner.travelled(one.cells()[0].job(0))
    expected = one.cells()[0].job(0).run()
    file.unlink()
    script = "import sys; from daedal.study import runner; print(runner._run(sys.stdin.buffer.read()))"
    done = subprocess.run([sys.executable, "-c", script], input=work, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().split("cpu_seconds")[0] == repr(expected).split("cpu_seconds")[0]


def test_what_was_asked_for_before_holds(inline: list[Job], store: Store) -> None:
    """So that who only says --retry-failed, or goes on after Ctrl-C, gets all of it."""
    one = study(problems=["onemax:n=12"], algorithms=["umda"])
    first = run_study(one, store, Order(confirm=3, full_grid=True))
    assert first.done == len(one.cells()) * one.runs + 3
    for cell, seed in ((one.cells()[-1], one.seeds[-1]), (one.cells()[0], one.fresh_seeds(3)[-1])):
        with sqlite3.connect(store.path) as connection:
            connection.execute(
                "UPDATE runs SET status = 'failed' WHERE seed = ? AND cell = (SELECT id FROM cells WHERE key = ?)",
                (seed, cell.key),
            )
    assert run_study(one, store, Order()).done == 0
    assert run_study(one, store, Order(retry_failed=True)).done == 2
    assert set(statuses(store).values()) == {DONE}
    assert run_study(one, store, Order(confirm=0, full_grid=False)).order == Order(confirm=0, full_grid=False)
    assert store.study()[1:] == (0, False)


def test_what_fails_again_has_failed(
    troubled: tuple[Study, Store], inline: list[Job], after_trouble: tuple[Path, Progress]
) -> None:
    one, opened = troubled
    bad = after_trouble[0] / "bad"
    only = Study.from_dict(
        {
            "problems": [{"name": "raises", "problem": f"{bad.with_name('trouble.py')}:raises", "n": 6, "target": 6}],
            "algorithms": ["umda"],
            "popsizes": [50],
            "runs": 1,
        }
    )
    assert only.cells()[0].key == one.cells()[0].key
    bad.touch()
    try:
        progress = run_study(only, opened, Order(retry_failed=True))
    finally:
        bad.unlink()
    assert (progress.done, progress.failed, len(inline)) == (1, 1, 1)
    assert statuses(opened)["raises"] == FAILED


def test_a_failure_counts_as_not_solved_for_the_plan(
    inline: list[Job], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = runner._run

    def picky(job: Job) -> Result:
        if job.popsize == 20:
            raise ValueError("not with so few")
        return run(job)

    monkeypatch.setattr(runner, "_run", picky)
    one = study(problems=["onemax:n=8"], algorithms=["umda"], popsizes=[20, 300], runs=10)
    progress = run_study(one, store, Order(workers=4))
    rows = Counter((row["popsize"], row["status"], row["error"]) for row in store.rows())
    # once six of ten have failed, 50 % is out of reach
    assert rows == {(20, FAILED, "ValueError: not with so few"): 6, (300, DONE, None): 10}
    assert (progress.done, progress.failed) == (16, 6)
    assert [entry.choice for entry in analyse(one, store.runs())[0].entries.values()] == [Settled(300)] * 2


def with_a_file(folder: Path) -> Study:
    (folder / "mine.py").write_text("def f(x):\n    return x.sum(axis=1)\n")
    problems = [{"name": "mine", "problem": "mine.py:f", "n": 6, "target": 6}, "onemax:n=6"]
    given = {"problems": problems, "algorithms": ["umda"], "popsizes": [50], "runs": 2}
    return Study.from_dict(given, folder=folder)


def test_a_file_that_breaks_in_the_middle_does_not_end_the_study(
    inline: list[Job], store: Store, tmp_path: Path
) -> None:
    def spoil(progress: Progress) -> None:
        if progress.done:
            (tmp_path / "mine.py").write_text("def f(x:\n")

    run_study(with_a_file(tmp_path), store, Order(), Watching(spoil))
    rows = [(row["problem"], row["seed"], row["status"]) for row in store.rows()]
    assert {(problem, seed) for problem, seed, _ in rows} == {
        (name, seed) for name in ("mine", "onemax:n=6") for seed in (0, 1)
    }
    assert {status for problem, _, status in rows if problem == "onemax:n=6"} == {DONE}


def test_what_a_file_became_in_the_meantime_is_not_taken_for_what_it_was(
    inline: list[Job], store: Store, tmp_path: Path
) -> None:
    """The key says what was in the file when the study was read; runs of anything else do not belong there."""

    def change(progress: Progress) -> None:
        if not progress.done:
            (tmp_path / "mine.py").write_text("def f(x):\n    return 100 + x.sum(axis=1)\n")

    run_study(with_a_file(tmp_path), store, Order(), Watching(change))
    assert [row["best"] for row in store.rows() if row["status"] == DONE and row["best"] > 6] == []


@pytest.mark.parametrize(
    ("code", "status", "error"),
    [
        (0, FAILED, "its process ended in the middle, with exit code 0"),
        (1, FAILED, "its process ended in the middle, with exit code 1"),
        (-signal.SIGKILL, KILLED, "its process was killed by SIGKILL"),
        (-signal.SIGHUP, KILLED, "its process was killed by SIGHUP"),
        (-signal.SIGSEGV, FAILED, "its process was killed by SIGSEGV"),
        (-signal.SIGABRT, FAILED, "its process was killed by SIGABRT"),
    ],
)
def test_what_an_end_means(code: int, status: str, error: str) -> None:
    assert runner._judged(Message(0, Event.DIED, code), "") == (status, error)


def test_who_is_killed_again_and_again_has_failed() -> None:
    """It may need more memory than there is, and the study has to go on."""
    story, said = [], ""
    for number in (signal.SIGKILL, signal.SIGTERM, *[signal.SIGKILL] * 3):
        status, outcome = runner._judged(Message(0, Event.DIED, -number), said)
        said = str(outcome)
        story.append(status)
    assert story == [KILLED] * 4 + [FAILED]
    assert said.startswith(
        "its process was killed by SIGKILL; the next time its process was killed by SIGTERM; the next time its process "
        "was killed by SIGKILL; "
    )
    assert runner._judged(Message(0, Event.RAISED, "ValueError: oh"), said) == (FAILED, "ValueError: oh")


def test_a_lost_worker_of_somebody_else_is_no_fault_of_the_run() -> None:
    status, error = runner._judged(Message(0, Event.DIED, "KilledWorker: oh"), "")
    assert (status, error) == (KILLED, "its worker was lost: KilledWorker: oh")


def test_a_signal_without_a_name_is_an_end_too() -> None:
    status, error = runner._judged(Message(0, Event.DIED, -(signal.SIGRTMIN + 6)), "")
    assert status == FAILED
    assert str(signal.SIGRTMIN + 6) in str(error)


# Interrupts


def test_an_interrupt_ends_the_processes_and_loses_nothing_that_ended(
    with_processes: dict[int, Rows], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(multiprocessing.active_children())
    counts: list[int] = []

    def interrupt(progress: Progress) -> None:
        counts.append(progress.done)
        if progress.done >= 5:
            assert set(multiprocessing.active_children()) - before
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(study(), store, Order(workers=2), Watching(interrupt))
    assert set(multiprocessing.active_children()) <= before
    assert len(store) == counts[-1] >= 5
    assert list(store.path.parent.glob("*.lock")) == []
    made: list[Job] = []
    monkeypatch.setattr(Inline, "made", made, raising=False)
    monkeypatch.setattr(runner, "ProcessPool", Inline)
    run_study(study(), store, Order(workers=2))
    assert timeless(store) == with_processes[1]  # as if nothing had happened
    assert len(made) == len(store) - counts[-1]


def test_a_store_has_one_user_whatever_name_it_goes_by(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "results.db")
    with (
        _alone(tmp_path / "results.db"),
        pytest.raises(ValueError, match="but another process is doing so"),
        _alone(tmp_path / "link.db"),
    ):
        pytest.fail("it has")

"""One run of one optimizer on one function, as a record; and the file that keeps records."""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from counting import Counting
from instances import make
from rivals import PACKAGES, RIVALS, run

MARKS = (100, 300, 1000, 3000)
"""Budgets of the anytime tables."""


@dataclass(frozen=True)
class Job:
    """What a run is: its record is known by these four."""

    algorithm: str
    function: str
    seed: int
    budget: int


@dataclass(frozen=True)
class Record:
    """What a run gave."""

    algorithm: str
    function: str
    seed: int
    budget: int
    solved: bool
    calls: int  # rows passed to the function: until the optimum, the rest of that batch included, or in all
    batches: int
    best: float  # within the budget
    true: float  # of the row that the optimizer reports, without noise
    marks: dict[str, float]  # best value after so many calls
    cpu: float  # seconds of the optimizer, the function's not counted
    memory: float = 0.0  # most bytes that the process had, in MB

    @property
    def job(self) -> Job:
        return Job(self.algorithm, self.function, self.seed, self.budget)

    @property
    def cpu_per_call(self) -> float:
        """Microseconds."""
        return 1e6 * self.cpu / max(self.calls, 1)


def instance_number(seed: int) -> int:
    """Spread seeds over instances: four for every twenty seeds, so that new seeds are also new instances."""
    return 4 * (seed // 20) + seed % 4


_warm: set[tuple[str, int]] = set()


def warm_up(algorithm: str, budget: int) -> None:
    """Compile and load what the optimizer needs for such a budget, so that no run pays for it."""
    if (algorithm, budget) not in _warm:
        enough = min(budget, 30 if algorithm in PACKAGES else 200 if algorithm in RIVALS else budget)
        run(algorithm, Counting(make("trap:k=4,n=20"), 0, enough), 0, enough)
        _warm.add((algorithm, budget))


def carry_out(job: Job) -> Record:
    """Make one run."""
    warm_up(job.algorithm, job.budget)
    function = Counting(make(job.function, instance_number(job.seed)), job.seed, job.budget)
    started = time.process_time()
    x = run(job.algorithm, function, job.seed, job.budget)
    cpu = time.process_time() - started - function.cpu_seconds
    solved = function.calls_to_optimum is not None and function.calls_to_optimum <= job.budget
    return Record(
        **asdict(job),
        solved=solved,
        calls=function.calls_to_optimum if solved and function.calls_to_optimum else function.calls,
        batches=function.batches,
        best=function.best,
        true=function.true_value(x),
        marks={str(mark): function.best_at(mark) for mark in MARKS if mark <= job.budget},
        cpu=cpu,
        memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


class Store:
    """A file of records, one a line in JSON, so that an interrupted benchmark goes on where it was."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._records: dict[Job, Record] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                record = Record(**json.loads(line))
                self._records[record.job] = record

    def __contains__(self, job: Job) -> bool:
        return job in self._records

    def __len__(self) -> int:
        return len(self._records)

    def add(self, record: Record) -> None:
        self._records[record.job] = record
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(record)) + "\n")

    def forget(self, algorithms: Iterable[str]) -> None:
        """Strike out what these algorithms did before, from the file too."""
        gone = set(algorithms)
        self._records = {job: record for job, record in self._records.items() if job.algorithm not in gone}
        if gone and self.path is not None:
            lines = [json.dumps(asdict(record)) + "\n" for record in self._records.values()]
            self.path.write_text("".join(lines), encoding="utf-8")

    def of(self, algorithm: str, function: str, budget: int, seeds: Iterable[int]) -> list[Record]:
        """Give the records there are, in the order of the seeds."""
        jobs = [Job(algorithm, function, seed, budget) for seed in seeds]
        return [self._records[job] for job in jobs if job in self._records]

"""One problem, one algorithm, one population size or budget: what its runs depend on, what they are known by."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from functools import cached_property

from daedal.evaluation.caller import Objective
from daedal.evaluation.options import EvaluationOptions
from daedal.limits import Limits
from daedal.objectives.program import Program
from daedal.objectives.spec import FileFunction, identity, spec_parts
from daedal.run.config import RunConfig
from daedal.searches.algorithm import Algorithm
from daedal.settings.parameters import Setting
from daedal.spaces.description import described

LIMITS = ("max_evaluations", "max_generations", "patience")
"""What may end a run of a study, beside the target; not the clock, which would make results depend on the machine."""

AUTO = "auto"
"""The population size of algorithms that find it themselves."""


@dataclass(frozen=True, kw_only=True)
class StudyProblem:
    """A problem of a study: what tables call it, and its name ("trap:k=5,n=50") or "path/to/file.py:function".

    `n` or `space` (JSON, see `daedal.spaces.description`) and `by_row` are for a function in a file. Another `version`,
    any text, has runs of its own: it is for what a file or a program depends on and nobody can see. A run with an
    evaluation beyond `timeout` seconds fails.
    """

    name: str
    problem: str
    n: int | None = None
    space: str | None = None
    by_row: bool = False
    minimize: bool = False
    target: float | None = None
    version: str = ""
    timeout: float | None = None
    identity: str | None = None
    """What the problem was when it was run, for a study that comes from a store: its file may be gone since."""

    def objective(self) -> Objective | str:
        """Give what stands for it in another process, which loads it there."""
        kind, _, command = spec_parts(self.problem)
        if kind == "program":
            return Program(command)
        return FileFunction(self.problem, str(self.content["problem"])) if kind == "file" else self.problem

    def check_unchanged(self) -> None:
        """Refuse a program whose files are not what they were: its runs would be called what they are not.

        Functions of a file need no such check: whoever loads the file makes it.
        """
        if spec_parts(self.problem)[0] == "program" and identity(self.problem) != self.content["problem"]:
            raise ValueError(f"{self.problem} has changed since the study was read; run the study again")

    @cached_property
    def content(self) -> dict[str, object]:
        """What the runs depend on: not the name, and not where a file lies, but what is in it; no clock."""
        return {
            "problem": identity(self.problem) if self.identity is None else self.identity,
            "n": self.n,
            **({} if self.space is None else {"space": json.loads(self.space)}),
            "by_row": self.by_row,
            "minimize": self.minimize,
            "target": self.target,
            **({"version": self.version} if self.version else {}),
        }


@dataclass(frozen=True, kw_only=True)
class StudyAlgorithm:
    """An algorithm of a study: what tables call it, what it is, the population sizes to try.

    An algorithm without a population, or with one that is doubled again and again, has the one "size" None.
    """

    name: str
    algorithm: Algorithm
    popsizes: tuple[int | None, ...]

    @property
    def settings(self) -> dict[str, Setting]:
        """The algorithm's settings, but for the population size, which is the cell's."""
        settings = self.algorithm.settings()
        return {name: value for name, value in settings.items() if name != "popsize" or value == AUTO}

    @property
    def content(self) -> dict[str, object]:
        """What the runs depend on, beside limits and population size; of a file, its content and the name in it."""
        algorithm = self.algorithm
        named = {} if algorithm.source is None else {"algorithm": algorithm.name}
        later = getattr(getattr(algorithm.configuration, "model", None), "later", {})
        settings = {name: value for name, value in self.settings.items() if name not in later or later[name] != value}
        return {"model": algorithm.kind, "settings": settings, **named}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One problem, one algorithm, one population size; in a study with budgets, one of these.

    With a budget, the limits have it, too. A run is given its budget and no other: an algorithm may use what it knows.
    """

    problem: StudyProblem
    algorithm: StudyAlgorithm
    popsize: int | None
    limits: Limits
    shuffle: bool
    budget: int | None = None

    @cached_property
    def content(self) -> dict[str, object]:
        """What the runs of the cell depend on, apart from the seed."""
        limits = self.algorithm.algorithm.with_limits(self.limits)
        return {
            **self.problem.content,
            **self.algorithm.content,
            "limits": {name: getattr(limits, name) for name in LIMITS},
            "shuffle": self.shuffle,
            "popsize": self.popsize,
            **({} if self.budget is None else {"budget": self.budget}),
        }

    @cached_property
    def key(self) -> str:
        """The digest of the content."""
        text = json.dumps(self.content, sort_keys=True, default=repr)
        return hashlib.sha256(text.encode()).hexdigest()

    def config(self, seed: int) -> RunConfig:
        """Describe one run."""
        algorithm = self.algorithm.algorithm
        return RunConfig(
            objective=self.problem.objective(),
            n=self.problem.n,
            space=None if self.problem.space is None else described(json.loads(self.problem.space)),
            algorithm=algorithm if self.popsize is None else algorithm.with_settings({"popsize": self.popsize}),
            seed=seed,
            minimize=self.problem.minimize,
            vectorized=not self.problem.by_row,
            shuffle=self.shuffle,
            limits=dataclasses.replace(self.limits, target=self.problem.target),
            evaluation=EvaluationOptions(timeout=self.problem.timeout),
        )

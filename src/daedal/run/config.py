"""The one description of a run: made from keywords, a command line, a study's cell or a checkpoint."""

from __future__ import annotations

import dataclasses
import json
import os
import warnings
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from daedal.evaluation.batch import Recorder
from daedal.evaluation.caller import Objective
from daedal.evaluation.evaluator import Evaluator
from daedal.evaluation.options import EXECUTOR_TIMEOUT, EvaluationOptions
from daedal.evaluation.signals import Interrupts
from daedal.limits import BudgetWarning, Limits, TimeWarning
from daedal.objectives.bound import AnyObjective, BoundObjective, bind, objective_size
from daedal.optimizers.configuration import Algorithm
from daedal.result import Result
from daedal.run.again import again_line
from daedal.run.checkpoint import Checkpointer
from daedal.run.duration import check_duration
from daedal.run.initial import Initial, read_initial
from daedal.run.ioh_log import IOHLog
from daedal.run.loop import Run
from daedal.run.noise import NOISY_CONSTRAINTS, Noise
from daedal.run.outcome import Callback, Display
from daedal.run.reporting import result_of
from daedal.run.view import RunProgress, RunView, progress_of
from daedal.settings.parameters import plain
from daedal.spaces.description import describe
from daedal.spaces.space import Space
from daedal.storage.checkpoint_file import CheckpointError
from daedal.storage.kinds import check_apart
from daedal.types import Json, State

if TYPE_CHECKING:
    from daedal.evaluation.sqlite_cache import SQLiteCache

DisplayFactory: TypeAlias = Callable[[RunView], AbstractContextManager[Display]]
"""Makes what shows a run."""


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """What a run is: everything that its result depends on, and how evaluations run; see `maximize`."""

    objective: AnyObjective
    constraints: tuple[Objective, ...] = ()
    n: int | None = None
    space: Space | None = None
    names: tuple[str, ...] | None = None
    algorithm: Algorithm
    seed: int
    minimize: bool = False
    vectorized: bool = True
    shuffle: bool = True
    limits: Limits = field(default_factory=Limits)
    evaluation: EvaluationOptions = field(default_factory=EvaluationOptions)
    noise: Noise | None = None  # what is known of the scatter of values; None: nothing
    initial: Initial | None = field(default=None, compare=False)
    command: str = field(default="", compare=False)  # that makes it again, where it comes from a command

    @property
    def size(self) -> int | None:
        """Number of bits, where the objective does not know it."""
        return self.n if self.space is None else self.space.n

    @property
    def again(self) -> str:
        """One line that makes the run again: the command that it was, or a line of Python."""
        return self.command or again_line(self)

    @property
    def sign(self) -> int:
        """1 where larger values are better, -1 where smaller are."""
        return -1 if self.minimize else 1

    def evaluated_by(
        self, *, workers: int | None, executor: Executor | None, executor_timeout: float = EXECUTOR_TIMEOUT
    ) -> RunConfig:
        """Give the same run with other workers, where any are given; the result does not depend on them."""
        if workers is None and executor is None:
            return self
        options = dataclasses.replace(
            self.evaluation,
            workers=1 if workers is None else workers,
            executor=executor,
            executor_timeout=executor_timeout,
        )
        return dataclasses.replace(self, evaluation=options)

    def run(
        self,
        *,
        state: State | None = None,
        checkpointer: Checkpointer | None = None,
        display: DisplayFactory | None = None,
        callback: Callback | None = None,
        log: str | os.PathLike[str] | None = None,
        interrupts: Interrupts | None = None,
        warn: bool = True,
        traced: bool = True,
    ) -> Result:
        """Run from the beginning, or from a state; warn, if wanted, of a budget that is too small; keep a trace or not.

        `log` is a folder for logs, see `IOHLog`: of whole runs, because ioh cannot go on with one. `interrupts`, which
        are entered, keep requests to end away from who hands the result on, once the run has ended.
        """
        if callback is not None and not callable(callback):
            raise TypeError(f"expected a function as callback, got callback={callback!r}")
        if checkpointer is not None and log is not None:
            raise ValueError("expected log or checkpoint, got both; a run that goes on has no log of what was before")
        if checkpointer is not None:
            check_apart({"the checkpoint": checkpointer.path, "the cache": self.evaluation.cache})
        algorithm = self._resolved()  # refuses what no memory holds
        warning = self.budget_warning() if warn and state is None else None
        if warning is not None:
            warnings.warn(warning, BudgetWarning, stacklevel=3)
        duration = self.duration_warning() if state is None else None  # refuses what takes days
        if warn and duration is not None:
            warnings.warn(duration, TimeWarning, stacklevel=3)
        objective = bind(
            self.objective,
            self.n,
            space=self.space,
            seed=self.seed,
            vectorized=self.vectorized,
            shuffle=self.shuffle,
            constraints=self.constraints,
        )
        has_goal = self.goal(objective) is not None
        limits = algorithm.with_limits(self.limits, has_goal=has_goal) if state is None else self.limits
        config = dataclasses.replace(self, algorithm=algorithm, limits=limits, command=self.again)
        with ExitStack() as closing:
            closing.callback(objective.close)
            under_way: list[Run] = []
            around = closing.enter_context(ExitStack())  # the display opens first: to prepare may take a while
            view = config._view(objective, partial(progress_of, under_way))
            shown = None if display is None else around.enter_context(display(view))
            controls = closing.enter_context(Interrupts()) if interrupts is None else interrupts
            run = config._prepared(objective, closing, checkpointer, callback, controls)
            run.tracer.active = traced
            under_way.append(run)
            if state is not None:
                _restore(run, state)
            if log is not None:
                run.evaluator.recorder = config._log(objective, closing, log)
            return result_of(config, objective, run, run.go(shown, around))

    def _resolved(self) -> Algorithm:
        """Give the algorithm with everything chosen that the user left open."""
        return self.algorithm.resolved(
            self._size(),
            max_evaluations=self._search_calls(),
            workers=self.evaluation.workers,
        )

    def _size(self) -> int:
        return objective_size(self.objective, self.n, self.space)

    def _search_calls(self) -> int | None:
        """Give the evaluations that there are for the algorithm."""
        most = self.algorithm.with_limits(self.limits).max_evaluations
        return most if most is None or self.noise is None else self.noise.search_calls(most)

    def budget_warning(self) -> str | None:
        """Say so, in a sentence, if the run has too few evaluations for its algorithm."""
        most = self._search_calls()
        return None if most is None else self._resolved().configuration.budget_warning(most)

    def duration_warning(self) -> str | None:
        """Say so, in a sentence, if a generation will take long; refuse one that will take more than a day."""
        return check_duration(self._resolved(), self._size(), self.limits)

    def _prepared(
        self,
        objective: BoundObjective,
        closing: ExitStack,
        checkpointer: Checkpointer | None,
        callback: Callback | None,
        interrupts: Interrupts,
    ) -> Run:
        if self.noise is not None and objective.constrained:
            raise ValueError(NOISY_CONSTRAINTS)
        rows, values = read_initial(self.initial, objective, self.names)
        goal = self.goal(objective)
        configuration = self.algorithm.configuration
        build = configuration.build if self.noise is None else self.noise.builder(configuration)
        optimizer = build(
            n=objective.n,
            seed=self.seed,
            limits=dataclasses.replace(self.limits, target=None if goal is None else self.sign * goal),
            initial=rows,
        )
        cache = None if self.evaluation.cache is None else closing.enter_context(self._cache(objective))
        evaluator = Evaluator(
            objective.caller(self.sign),
            n=objective.n,
            order=objective.order,
            options=self.evaluation,
            cache=cache,
            constrained=objective.constrained,
            on_exit=objective.on_exit,
        )
        if rows is not None and values is not None and objective.constrained:
            warnings.warn(
                "the initial rows are evaluated, because their values are known but not whether they are feasible",
                BudgetWarning,
                stacklevel=4,
            )
        elif rows is not None and values is not None:
            evaluator.preload(rows, values)
        return Run(
            optimizer,
            evaluator,
            sign=self.sign,
            limits=self.limits,
            config=State(arrays={}, fields=self.to_json(objective)),
            to_objective=objective.to_objective,
            encoding=None if self.space is None else self.space.encoding,
            checkpointer=checkpointer,
            callback=callback,
            interrupts=interrupts,
        )

    def _log(self, objective: BoundObjective, closing: ExitStack, folder: str | os.PathLike[str]) -> Recorder:
        """Open a log, which is closed with the run."""
        log = IOHLog(folder, objective=self.objective, bound=objective, sign=self.sign, seed=self.seed)
        log.open(self.algorithm.name)
        closing.callback(log.close)
        return log.write

    def _cache(self, objective: BoundObjective) -> SQLiteCache:
        from daedal.evaluation.sqlite_cache import SQLiteCache  # SQLite, only where it is used

        name = self.evaluation.name or objective.cache_name
        if name is None:
            raise ValueError(
                f"values of {objective.name} in a cache need a name: name=... (--name); a version, too, if the "
                "objective will change"
            )
        assert self.evaluation.cache is not None
        if self.space is not None:  # the same bits mean something else in another space
            name = f"{name} of {json.dumps(describe(self.space))}"
        return SQLiteCache(self.evaluation.cache, n=objective.n, objective=name, version=self.evaluation.version)

    def optimum(self, objective: BoundObjective) -> float | None:
        """Give the known optimum, which is the largest value."""
        return None if self.minimize else objective.optimum

    def goal(self, objective: BoundObjective) -> float | None:
        """Give the value to reach, as the user has it."""
        return self.optimum(objective) if self.limits.target is None else self.limits.target

    def _view(self, objective: BoundObjective, progress: Callable[[], RunProgress]) -> RunView:
        popsize = self.algorithm.settings().get("popsize")
        size = "" if popsize is None else f", popsize {popsize}"
        return RunView(
            title=f"{self.algorithm.name} on {objective.name}{size}, seed {self.seed}",
            goal=self.goal(objective),
            limits=self.limits,
            progress=progress,
        )

    def to_json(self, objective: BoundObjective) -> dict[str, Json]:
        """Say in plain values what the run is: numbers and names, and no code."""
        return {
            "objective": objective.name,
            **({"constraints": len(objective.constraints)} if objective.constraints else {}),
            "spec": objective.spec,
            "n": int(objective.n),
            "space": None if self.space is None else describe(self.space),
            "names": None if self.names is None else list(self.names),
            "vectorized": bool(self.vectorized),
            "shuffle": bool(self.shuffle),
            "minimize": bool(self.minimize),
            "algorithm": self.algorithm.name,
            "kind": self.algorithm.kind,
            "settings": {name: plain(value) for name, value in self.algorithm.settings().items()},
            "seed": self.seed,
            "limits": {name: plain(value) for name, value in dataclasses.asdict(self.limits).items()},
            "evaluation": self.evaluation.to_json(),
            "noise": None if self.noise is None else self.noise.to_json(),
            "optimum": self.optimum(objective),
            "again": self.again,
        }


def _restore(run: Run, state: State) -> None:
    try:
        run.restore(state)
    except (ValueError, TypeError, KeyError, IndexError) as error:
        said = " ".join(str(error).split())
        raise CheckpointError(f"the checkpoint does not fit its own run: {said[:300]}") from error

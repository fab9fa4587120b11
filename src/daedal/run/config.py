"""The one description of a run: made from keywords, a command line, a study's cell or a run file."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from daedal.engine import Engine
from daedal.evaluation.caller import Objective
from daedal.evaluation.evaluation import Evaluation
from daedal.evaluation.options import DEFAULTS, EXECUTOR_TIMEOUT, EvaluationOptions
from daedal.evaluation.signals import Interrupts
from daedal.limits import BudgetWarning, Limits, TimeWarning
from daedal.models.base import ADVICE
from daedal.objectives.bound import AnyObjective, BoundObjective, bind, objective_name, objective_size
from daedal.result import Result
from daedal.run.initial import Initial, read_initial
from daedal.run.journal import Journal, open_journal
from daedal.run.loop import Log, Run
from daedal.run.noise import NOISY_CONSTRAINTS, Noise
from daedal.run.view import Callback, Display, RunProgress, RunView
from daedal.searches.algorithm import Algorithm
from daedal.searches.presets import find_algorithm
from daedal.settings.checks import readable_seconds
from daedal.settings.parameters import Setting
from daedal.spaces.space import Space

if TYPE_CHECKING:
    from daedal.run.known import Earlier
    from daedal.run.run_file import RunFile

SLOW, HOPELESS = 600.0, 86_400.0
"""Seconds of a generation from which on a run warns, and from which on it is refused."""

DisplayFactory: TypeAlias = Callable[[RunView], AbstractContextManager[Display]]
"""Makes what shows a run."""


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """What a run is: everything that its result depends on, and how evaluations are made; see `maximize`."""

    objective: AnyObjective
    constraints: tuple[Objective, ...] = ()
    violations: bool = False  # if True, the objective returns pairs of values and violations
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
    noise: Noise | None = None  # what the user says of noise; None: nothing
    initial: Initial | None = field(default=None, compare=False)
    known: Earlier | None = field(default=None, compare=False)  # earlier evaluations, which are free
    file: str | None = field(default=None, compare=False)  # that records the run
    held: Mapping[str, Any] | None = field(default=None, compare=False)  # what the file says of a run that is resumed
    command: str = field(default="", compare=False)  # that repeats it, if it comes from a command

    @property
    def size(self) -> int | None:
        """Number of bits, if the objective does not know it."""
        return self.n if self.space is None else self.space.n

    @property
    def again(self) -> str:
        """One line that repeats the run: the command that started it, or a call of `maximize` or `minimize`.

        In such a call, a function is written as its name, and a space, names and constraints as those words.
        """
        if self.command:
            return self.command
        named = isinstance(self.objective, str)
        name = objective_name(self.objective).rpartition(":")[2]
        words = [repr(self.objective) if named else name if name.isidentifier() else "f"]
        if self.space is not None:
            words.append("space")
        elif self.names is not None:
            words.append("names")
        elif self.n is not None and not named:
            words.append(f"n={self.n}")
        words += ["constraints=constraints"] * bool(self.constraints)
        words += [f"{name}={value!r}" for name, value in self._changed().items()]
        return f"daedal.{'minimize' if self.minimize else 'maximize'}({', '.join(words)})"

    def _changed(self) -> dict[str, object]:
        """Return the keywords of `maximize` that differ from their defaults, and the seed."""
        limits = {one.name: getattr(self.limits, one.name) for one in dataclasses.fields(Limits)}
        found: dict[str, object] = {} if self.algorithm.name == "auto" else {"algorithm": self.algorithm.name}
        found |= {"seed": self.seed, **{name: value for name, value in limits.items() if value is not None}}
        kind = {"vectorized": self.vectorized, "violations": self.violations, "shuffle": self.shuffle}
        usual = {"vectorized": True, "violations": False, "shuffle": True, "noisy": False}
        kind["noisy"] = self.noise is not None
        found |= {name: value for name, value in kind.items() if value != usual[name]}
        if self.noise is not None and self.noise.repeats is not None:
            found["repeats"] = self.noise.repeats
        given = dataclasses.replace(self.evaluation, deduplicate=self.evaluation.deduplicate or self.noise is not None)
        options = {name: getattr(given, name) for name in ("on_error", "timeout", "asynchronous", "deduplicate")}
        found |= {name: value for name, value in options.items() if value != getattr(DEFAULTS, name)}
        own: dict[str, Setting] = {}
        with suppress(ValueError):  # a user's own algorithm, or one of a package that is broken
            own = find_algorithm(self.algorithm.name).settings()
        return found | {name: value for name, value in self.algorithm.settings().items() if value != own.get(name)}

    @property
    def sign(self) -> int:
        """1 if larger values are better, -1 if smaller ones are."""
        return -1 if self.minimize else 1

    def evaluated_by(
        self, *, workers: int | None, executor: Executor | None, executor_timeout: float = EXECUTOR_TIMEOUT
    ) -> RunConfig:
        """Return the same run with other workers, if any are given; the result does not depend on them."""
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
        display: DisplayFactory | None = None,
        callback: Callback | None = None,
        log: str | os.PathLike[str] | None = None,
        interrupts: Interrupts | None = None,
        warn: bool = True,
        traced: bool = True,
    ) -> Result:
        """Run to the end.

        Parameters
        ----------
        display
            Makes what shows the run.
        callback
            Called with each record.
        log
            A folder for logs, see `ioh_log`.
        interrupts
            If they are given, they are entered, and keep requests to end away from the caller who hands the result on.
        warn
            If True, warn of a budget that is too small.
        traced
            If True, keep a trace.
        """
        if callback is not None and not callable(callback):
            raise TypeError(f"callback={callback!r} is not a function")
        given = self.algorithm
        config = self._resolved()
        if warn and (self.file is None or not os.path.exists(self.file)):
            for warning in config.warnings():
                warnings.warn(warning, stacklevel=3)
        objective = bind(
            self.objective,
            self.n,
            space=self.space,
            seed=self.seed,
            vectorized=self.vectorized,
            shuffle=self.shuffle,
            constraints=self.constraints,
            violations=self.violations,
        )
        config = config._with_limits(objective)
        with ExitStack() as closing:
            closing.callback(objective.close)
            under_way: list[Run] = []
            around = closing.enter_context(ExitStack())  # the display opens first: to prepare may take a while
            view = config._view(objective, lambda: under_way[0].progress if under_way else RunProgress())
            shown = None if display is None else around.enter_context(display(view))
            controls = closing.enter_context(Interrupts()) if interrupts is None else interrupts
            evaluation = Evaluation(dataclasses.replace(objective.call, sign=self.sign), options=self.evaluation)
            closing.callback(evaluation.close)
            width = evaluation.size if self.evaluation.asynchronous else 1
            file = config._open_file(objective, given, width)
            if file is not None:
                width = file.description["width"]
                closing.callback(file.close)
            write = None if log is None else closing.enter_context(self._opened_log(log, objective))
            run = config._prepared(
                objective, evaluation, file, callback, controls, width=width, log=write, traced=traced
            )
            closing.callback(vars(run.engine).clear)  # or searches and archive would wait for the garbage collector
            under_way.append(run)
            run.go(shown, around)
            result = run.result(config)
            if file is not None:
                from daedal.result.result import result_to_json, trace_to_arrays

                trace = None if result.trace is None else trace_to_arrays(result.trace)
                file.finish(result_to_json(result), trace)
            return result

    def _resolved(self) -> RunConfig:
        """Return the run with everything chosen that the user left open."""
        algorithm = self.algorithm
        if self.file is not None:
            from daedal.run.resume import chosen_before

            algorithm = chosen_before(self.file, algorithm)
        algorithm = algorithm.resolved(
            self._size(), max_evaluations=self._search_evaluations(), workers=self.evaluation.workers
        )
        return dataclasses.replace(self, algorithm=algorithm, command=self.again)

    def _with_limits(self, objective: BoundObjective) -> RunConfig:
        limits = self.algorithm.with_limits(self.limits, has_goal=self.goal(objective) is not None)
        return dataclasses.replace(self, limits=limits)

    def _size(self) -> int:
        return objective_size(self.objective, self.n, self.space)

    def _search_evaluations(self) -> int | None:
        """Return the evaluations that the budget has for the search."""
        most = self.algorithm.with_limits(self.limits).max_evaluations
        return most if most is None or self.noise is None else self.noise.search_evaluations(most)

    def warnings(self) -> list[BudgetWarning]:
        """Return warnings of a budget that is too small and of generations that take long; refuse one of days."""
        n, most = self._size(), self._search_evaluations()
        algorithm = self.algorithm.resolved(n, max_evaluations=most, workers=self.evaluation.workers)
        budget = None if most is None else algorithm.configuration.budget_warning(most)
        duration = check_duration(algorithm, n, self.limits)
        return [kind(text) for kind, text in ((BudgetWarning, budget), (TimeWarning, duration)) if text is not None]

    def _open_file(self, objective: BoundObjective, given: Algorithm, width: int) -> RunFile | None:
        """Open the file that records the run; one that holds another run is refused.

        A run that continues keeps its width: a search with another one would not ask for the recorded candidates.
        """
        if self.file is None:
            return None
        from daedal.run.resume import description, description_before
        from daedal.run.run_file import open_run

        wanted = description(self, objective, given)
        wanted["width"] = description_before(self.file).get("width", width)
        if self.held is not None:  # the objective was checked; its function may have another name, or its file moved
            wanted |= {name: self.held[name] for name in ("objective", "spec")}
        file = open_run(self.file, wanted)
        file.set_budget(self.limits.max_evaluations)
        return file

    def _prepared(
        self,
        objective: BoundObjective,
        evaluation: Evaluation,
        file: RunFile | None,
        callback: Callback | None,
        interrupts: Interrupts,
        *,
        width: int,
        log: Log | None,
        traced: bool,
    ) -> Run:
        if self.noise is not None and objective.call.constrained:
            raise ValueError(NOISY_CONSTRAINTS)
        rows, values = read_initial(self.initial, objective, self.names)
        goal, configuration = self.goal(objective), self.algorithm.configuration
        engine = Engine(
            objective.n,
            seed=self.seed,
            encoding=None if self.space is None else self.space.encoding,
            repeat=not self.evaluation.deduplicate,
        )
        engine.initial = rows if rows is not None and len(rows) else None
        engine.width = width
        engine.target = None if goal is None else self.sign * goal
        configuration.prepare(objective.n, self._search_evaluations())
        known = []
        if rows is not None and values is not None and objective.call.constrained:
            warnings.warn(
                "the initial candidates are evaluated, because their values are known but not whether they are "
                "feasible",
                BudgetWarning,
                stacklevel=5,
            )
        elif rows is not None and values is not None:
            from daedal.archive import to_candidates

            known = [(c, (v, None, False)) for c, v in zip(to_candidates(rows), values.tolist(), strict=True)]
        journal = Journal(known=known)
        if file is not None or self.known is not None:
            journal = open_journal(file, objective, names=self.names, known=known, source=self.known)
        run = Run(
            engine,
            evaluation,
            objective,
            sign=self.sign,
            limits=configuration.run_limits(self.limits),
            goal=engine.target,
            journal=journal,
            noisy=self.noise is not None,
            callback=callback,
            asynchronous=self.evaluation.asynchronous,
            interrupts=interrupts,
            log=log,
            traced=traced,
        )
        engine.left, engine.timed = run._left(), self.limits.max_seconds is not None
        if self.noise is None:
            engine.start(configuration.search(engine, self.limits))
        else:
            from daedal.searches.noisy import averaged

            make = partial(configuration.noisy_search, limits=self.limits)
            engine.start(averaged(engine, make, repeats=self.noise.repeats))
        return run

    def _opened_log(self, folder: str | os.PathLike[str], objective: BoundObjective) -> AbstractContextManager[Log]:
        from daedal.run.ioh_log import ioh_log  # here, because it needs the extra `ioh`

        return ioh_log(
            folder,
            self.algorithm.name,
            objective=self.objective,
            bound=objective,
            minimize=self.minimize,
            seed=self.seed,
        )

    def optimum(self, objective: BoundObjective) -> float | None:
        """Return the known optimum, which is the largest value."""
        return None if self.minimize else objective.optimum

    def goal(self, objective: BoundObjective) -> float | None:
        """Return the value to reach, as the user has it."""
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


def check_duration(algorithm: Algorithm, n: int, limits: Limits) -> str | None:
    """Return a warning if a generation of the algorithm, which is resolved, will take long; refuse one of days.

    There is none if the time is limited, or if no generation comes after the first. The time is that of
    `Model.working_seconds`: a formula, the same on every machine.

    Parameters
    ----------
    algorithm
        What is to run.
    n
        Number of variables.
    limits
        What the user has set.
    """
    seconds, size = algorithm.configuration.generation_seconds(n), algorithm.settings().get("popsize")
    one_population = isinstance(size, int) and limits.max_evaluations is not None and limits.max_evaluations <= size
    if seconds < SLOW or limits.max_seconds is not None or limits.max_generations == 0 or one_population:
        return None
    with_size = f" and popsize={size:,}" if isinstance(size, int) else ""
    told = (
        f"a generation of {algorithm.name} with n={n:,}{with_size} takes about {readable_seconds(seconds)} of CPU time"
    )
    if seconds < HOPELESS:
        return f"{told}; a smaller popsize takes less, and {ADVICE}"
    raise ValueError(
        f"{told}; take a smaller popsize, or another algorithm: {ADVICE}; with max_seconds (--max-seconds), which is "
        "looked at after each generation, it runs all the same"
    )

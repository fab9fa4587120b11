"""The front door: maximize, minimize, resume."""

from __future__ import annotations

import dataclasses
import os
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal.bits import Bits, as_numbers, check_bits, to_text
from daedal.cache_file import FileCache
from daedal.calling import Objective
from daedal.checkpoint import EVERY, Keeper, load, taken
from daedal.container import ContainerError, Json
from daedal.evaluation import Evaluator, Failure, OnError
from daedal.models.base import Model
from daedal.optimizer import Generation
from daedal.presets import Algorithm, find_algorithm, restored_algorithm
from daedal.problems import Problem
from daedal.registry import canonical_problem, problem_file
from daedal.rng import check_seed
from daedal.running import Callback, Ending, Run
from daedal.settings import Setting
from daedal.state import State
from daedal.stopping import Limits, StopReason, meets
from daedal.task import Task, make_task

Initial: TypeAlias = "NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]"
"""Rows to begin with, shape (rows, n); or rows and their values, which are then not evaluated again."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """What a run found, and how.

    Attributes
    ----------
    x
        The best bits, shape (n,), in the order of the objective's own variables.
    fitness
        Their value, as the objective gave it.
    success
        Whether the target, or the known optimum, was reached; None where neither is known.
    stop
        Why the run ended; `stop.message` says it in a sentence.
    evaluations, evaluations_to_best
        Rows evaluated in all, and up to the generation that found x; duplicates count.
    carried_out, cached, failed
        What became of these rows: the objective gave a value; the value was known from before; it failed.
    failures
        The first rows that failed, and why.
    generations
        Generations after the first, random one.
    seconds
        Time on the clock.
    cpu_seconds, cpu_seconds_to_best
        CPU time of this process in all, and up to the generation that found x. The objective's is included, the
        compilation of kernels is not.
    history
        One record a generation.
    algorithm, settings, popsize, seed
        What was run.
    optimum
        The known optimum of the problem, or None.
    """

    x: Bits
    fitness: float
    success: bool | None
    stop: StopReason
    evaluations: int
    evaluations_to_best: int
    carried_out: int
    cached: int
    failed: int
    failures: tuple[Failure, ...]
    generations: int
    seconds: float
    cpu_seconds: float
    cpu_seconds_to_best: float
    history: tuple[Generation, ...]
    algorithm: str
    settings: dict[str, Setting]
    popsize: int
    seed: int
    optimum: float | None

    def __repr__(self) -> str:
        return (
            f"Result(fitness={self.fitness:g}, x={to_text(self.x)}, success={self.success}, stop={self.stop}, "
            f"evaluations={self.evaluations}, generations={self.generations}, cpu_seconds={self.cpu_seconds:.2f}, "
            f"algorithm={self.algorithm}, popsize={self.popsize}, seed={self.seed})"
        )


def maximize(
    objective: Objective | Problem | str,
    n: int | None = None,
    *,
    algorithm: str | Algorithm | Model = "dae",
    popsize: int | None = None,
    seed: int | None = None,
    max_evaluations: int | None = None,
    max_generations: int | None = None,
    max_seconds: float | None = None,
    patience: int | None = None,
    target: float | None = None,
    vectorized: bool = True,
    shuffle: bool = True,
    initial: Initial | None = None,
    workers: int = 1,
    executor: Executor | None = None,
    on_error: str = "raise",
    timeout: float | None = None,
    deduplicate: bool = True,
    cache: str | os.PathLike[str] | None = None,
    name: str | None = None,
    version: str = "",
    checkpoint: str | os.PathLike[str] | None = None,
    every: str | int = EVERY,
    progress: bool = False,
    callback: Callback | None = None,
    **settings: Setting,
) -> Result:
    """Find the bits with the largest value of an objective.

    Parameters
    ----------
    objective
        A function of an array of 0/1 rows, shape (rows, n), that gives one number a row; a function of one row, with
        vectorized=False; a problem; or the name of one ("hiff:n=64").
    n
        Number of variables, for a function.
    algorithm
        A name (`daedal list` shows them), a model, or an `Algorithm`.
    popsize
        Size of the population; chosen from n where not given, and then to be read from the result.
    seed
        Same seed, same result.
    max_evaluations, max_generations, max_seconds, patience, target
        What ends the run: see `Limits`. Generations and patience come from the algorithm where not given, and the
        target from a problem's known optimum.
    vectorized
        Whether the objective takes a batch or one row.
    shuffle
        Whether a problem called by name gets its variables in a random order, so that nobody profits from adjacency;
        x is reported in the problem's own order.
    initial
        Rows to begin with, shape (rows, n), in the objective's own order; or a pair of such rows and their values,
        which are then not evaluated again. Random rows fill up the population.
    workers
        Processes to evaluate with; the result does not depend on it.
    executor
        Somebody else's workers instead: any concurrent.futures.Executor, or Dask's `client.get_executor()`.
    on_error
        When an evaluation raises, gives nan, takes too long or ends its process: "raise"; "worst": the row counts as
        the worst there is, and is written down; "retry:3": three more tries, then raise; "retry:3,worst".
    timeout
        Seconds that one evaluation may take.
    deduplicate
        Whether a row that comes again has the value it had before; False for an objective with noise.
    cache
        A file (SQLite) that keeps values for other runs and programs, under a name and a version.
    name, version
        What the objective is called in the cache; for a function, a name has to be given. Another version is another
        objective.
    checkpoint, every
        A file to go on from with `resume`, and when to write it: "60s", or after so many generations.
    progress
        Whether to show the run as it goes, on standard error.
    callback
        Called with each `Generation`; returns True to stop the run.
    **settings
        Hyperparameters of the algorithm, such as corruption=0.05; an unknown one lists the known ones.

    Returns
    -------
    Result
        Also when the run is interrupted with Ctrl-C: the best so far.

    Examples
    --------
    >>> import daedal
    >>> result = daedal.maximize(lambda x: x.sum(axis=1), n=20, algorithm="umda", seed=1)
    >>> result.fitness
    20.0
    """
    return _start(
        objective,
        n,
        sign=1,
        algorithm=find_algorithm(algorithm).with_settings(settings),
        popsize=popsize,
        seed=check_seed(seed),
        limits=Limits(
            max_evaluations=max_evaluations,
            max_generations=max_generations,
            max_seconds=max_seconds,
            patience=patience,
            target=target,
        ),
        means=Means(
            workers=workers,
            executor=executor,
            on_error=on_error,
            timeout=timeout,
            deduplicate=deduplicate,
            cache=None if cache is None else os.fspath(cache),
            name=name,
            version=version,
        ),
        vectorized=vectorized,
        shuffle=shuffle,
        initial=initial,
        keeper=None if checkpoint is None else Keeper(checkpoint, every),
        progress=progress,
        callback=callback,
    )


def minimize(
    objective: Objective | Problem | str,
    n: int | None = None,
    *,
    algorithm: str | Algorithm | Model = "dae",
    popsize: int | None = None,
    seed: int | None = None,
    max_evaluations: int | None = None,
    max_generations: int | None = None,
    max_seconds: float | None = None,
    patience: int | None = None,
    target: float | None = None,
    vectorized: bool = True,
    shuffle: bool = True,
    initial: Initial | None = None,
    workers: int = 1,
    executor: Executor | None = None,
    on_error: str = "raise",
    timeout: float | None = None,
    deduplicate: bool = True,
    cache: str | os.PathLike[str] | None = None,
    name: str | None = None,
    version: str = "",
    checkpoint: str | os.PathLike[str] | None = None,
    every: str | int = EVERY,
    progress: bool = False,
    callback: Callback | None = None,
    **settings: Setting,
) -> Result:
    """Find the bits with the smallest value of an objective.

    As `maximize`, with all signs as the objective has them: in the target, the result, its history and the callback.
    A problem's optimum is its largest value, so it does not count here.

    Examples
    --------
    >>> import daedal
    >>> result = daedal.minimize(lambda x: x.sum(axis=1), n=20, algorithm="umda", seed=1, target=0)
    >>> result.fitness, result.success
    (0.0, True)
    """
    return _start(
        objective,
        n,
        sign=-1,
        algorithm=find_algorithm(algorithm).with_settings(settings),
        popsize=popsize,
        seed=check_seed(seed),
        limits=Limits(
            max_evaluations=max_evaluations,
            max_generations=max_generations,
            max_seconds=max_seconds,
            patience=patience,
            target=target,
        ),
        means=Means(
            workers=workers,
            executor=executor,
            on_error=on_error,
            timeout=timeout,
            deduplicate=deduplicate,
            cache=None if cache is None else os.fspath(cache),
            name=name,
            version=version,
        ),
        vectorized=vectorized,
        shuffle=shuffle,
        initial=initial,
        keeper=None if checkpoint is None else Keeper(checkpoint, every),
        progress=progress,
        callback=callback,
    )


@dataclass(frozen=True, kw_only=True)
class Means:
    """By what means evaluations are made: see `maximize`."""

    workers: int = 1
    executor: Executor | None = None
    on_error: str = "raise"
    timeout: float | None = None
    deduplicate: bool = True
    cache: str | None = None
    name: str | None = None
    version: str = ""

    def __post_init__(self) -> None:
        whole = isinstance(self.workers, Integral) and not isinstance(self.workers, bool)
        if not whole or self.workers < 1:
            raise ValueError(f"expected workers to be a whole number of at least 1, got workers={self.workers!r}")
        if self.executor is not None and not callable(getattr(self.executor, "submit", None)):
            raise TypeError(f"expected an executor with a submit method, got executor={self.executor!r}")
        if self.executor is not None and self.workers != 1:
            raise ValueError("expected workers or an executor, got both; the executor has workers of its own")
        number = isinstance(self.timeout, Real) and not isinstance(self.timeout, bool)
        if self.timeout is not None and not (number and self.timeout > 0):
            raise ValueError(f"expected timeout to be a number of seconds above 0, got timeout={self.timeout!r}")
        if self.cache is not None and not self.deduplicate:
            raise ValueError("expected a cache or deduplicate=False, got both: a cache gives every row one value")
        OnError.read(self.on_error)

    def evaluator(self, task: Task, *, sign: int, closing: ExitStack) -> Evaluator:
        """Make the evaluator; what has to be closed after the run is given to `closing`."""
        return Evaluator(
            task.objective,
            vectorized=task.vectorized,
            sign=sign,
            dtype=task.dtype,
            order=task.places,
            deduplicate=self.deduplicate,
            cache=None if self.cache is None else closing.enter_context(self._file(task)),
            workers=self.workers,
            executor=self.executor,
            on_error=OnError.read(self.on_error),
            timeout=self.timeout,
        )

    def _file(self, task: Task) -> FileCache:
        name = self.name or task.cache_name()
        if name is None:
            raise ValueError(
                f"expected a name for the values of {task.name} in the cache: name=... (--name); a version, too, if "
                "the objective will change"
            )
        assert self.cache is not None
        return FileCache(self.cache, n=task.n, objective=name, version=self.version)

    def as_json(self) -> dict[str, Json]:
        """Give what a checkpoint keeps: all but the executor."""
        kept = [field.name for field in dataclasses.fields(self) if field.name != "executor"]
        return {**{name: _plain(getattr(self, name)) for name in kept}, "version": str(self.version)}


def _start(
    objective: Objective | Problem | str,
    n: int | None,
    *,
    sign: int,
    algorithm: Algorithm,
    popsize: int | None,
    seed: int,
    limits: Limits,
    means: Means,
    vectorized: bool,
    shuffle: bool,
    initial: Initial | None,
    keeper: Keeper | None,
    progress: bool,
    callback: Callback | None,
) -> Result:
    """Maximise sign * objective: make the optimizer, run it, report in the objective's own signs."""
    if callback is not None and not callable(callback):
        raise TypeError(f"expected a function as callback, got callback={callback!r}")
    task = make_task(objective, n, seed=seed, popsize=popsize, vectorized=vectorized, shuffle=shuffle)
    setup = _Setup(
        task=task,
        sign=sign,
        algorithm=algorithm,
        popsize=popsize,
        seed=seed,
        limits=algorithm.limits(limits),
        means=means,
        shuffle=shuffle,
    )
    return setup.run(None, initial=initial, keeper=keeper, progress=progress, callback=callback)


def resume(
    checkpoint: str | os.PathLike[str],
    objective: Objective | Problem | str | None = None,
    *,
    algorithm: str | Algorithm | Model | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    every: str | int = EVERY,
    progress: bool = False,
    callback: Callback | None = None,
) -> Result:
    """Go on with a run from its checkpoint; the result is that of a run that was never broken off, to the bit.

    Parameters
    ----------
    checkpoint
        The file that `maximize` or `minimize` wrote; it is kept up to date.
    objective
        The same objective again. A problem that was named ("hiff:n=64") need not be given: a checkpoint holds numbers
        and names, and no code.
    algorithm
        The same algorithm again, where it is not one of daedal's own.
    workers, executor
        Processes, or an executor, to evaluate with; as before where not given.
    every, progress, callback
        As for `maximize`.

    Examples
    --------
    >>> import daedal, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "run.ckpt"
    ...     run = dict(algorithm="umda", popsize=100, seed=1, checkpoint=path)
    ...     half = daedal.maximize("onemax:n=60", callback=lambda record: record.generation == 3, **run)
    ...     whole = daedal.resume(path)
    >>> half.fitness < whole.fitness, whole.fitness
    (True, 60.0)
    """
    if callback is not None and not callable(callback):
        raise TypeError(f"expected a function as callback, got callback={callback!r}")
    state = load(checkpoint)
    setup = _restored(taken(state, "description"), os.fspath(checkpoint), objective, algorithm)
    means = setup.means
    if executor is not None:
        means = dataclasses.replace(means, workers=1 if workers is None else workers, executor=executor)
    elif workers is not None:
        means = dataclasses.replace(means, workers=workers)
    setup = dataclasses.replace(setup, means=means)
    return setup.run(state, initial=None, keeper=Keeper(checkpoint, every), progress=progress, callback=callback)


@dataclass(frozen=True, kw_only=True)
class _Setup:
    """Everything that a run is made of."""

    task: Task
    sign: int
    algorithm: Algorithm
    popsize: int | None
    seed: int
    limits: Limits
    means: Means
    shuffle: bool

    @property
    def optimum(self) -> float | None:
        """The known optimum, which is the largest value."""
        return self.task.optimum if self.sign > 0 else None

    @property
    def goal(self) -> float | None:
        """The value to reach, as the user has it."""
        return self.limits.target if self.limits.target is not None else self.optimum

    def run(
        self,
        state: State | None,
        *,
        initial: Initial | None,
        keeper: Keeper | None,
        progress: bool,
        callback: Callback | None,
    ) -> Result:
        """Run from the beginning, or from a state."""
        rows, values = _initial(initial, self.task)
        optimizer = self.algorithm.optimizer(
            n=self.task.n,
            popsize=self.popsize,
            seed=self.seed,
            limits=dataclasses.replace(self.limits, target=None if self.goal is None else self.sign * self.goal),
            initial=rows,
        )
        with ExitStack() as closing:
            evaluator = self.means.evaluator(self.task, sign=self.sign, closing=closing)
            if rows is not None and values is not None:
                evaluator.know(rows, values)
            run = Run(
                optimizer,
                evaluator,
                sign=self.sign,
                limits=self.limits,
                description=self.described(optimizer.popsize),
                keeper=keeper,
                callback=callback,
            )
            if state is not None:
                _restore(run, state)
            title = f"{self.algorithm.name} on {self.task.name}, popsize {optimizer.popsize}, seed {self.seed}"
            ending = run.go(progress=title if progress else None, goal=self.goal)
        return self.result(ending, evaluator, optimizer.popsize)

    def result(self, ending: Ending, evaluator: Evaluator, popsize: int) -> Result:
        """Report in the objective's own signs and order."""
        best, goal = ending.best, self.goal
        return Result(
            x=self.task.own(best.x),
            fitness=self.sign * best.fitness,
            success=None if goal is None else meets(best.fitness, self.sign * goal),
            stop=ending.stop,
            evaluations=evaluator.evaluations,
            evaluations_to_best=best.evaluations,
            carried_out=evaluator.carried_out,
            cached=evaluator.cached,
            failed=evaluator.failed,
            failures=tuple(evaluator.failures),
            generations=ending.history[-1].generation if ending.history else 0,
            seconds=ending.seconds,
            cpu_seconds=ending.cpu_seconds,
            cpu_seconds_to_best=ending.cpu_seconds_to_best,
            history=ending.history,
            algorithm=self.algorithm.name,
            settings=self.algorithm.settings(),
            popsize=popsize,
            seed=self.seed,
            optimum=self.optimum,
        )

    def described(self, popsize: int) -> dict[str, Json]:
        """Say in plain values what the run is, for a checkpoint."""
        return {
            "objective": self.task.name,
            "spec": self.task.spec,
            "n": int(self.task.n),
            "vectorized": bool(self.task.vectorized),
            "shuffle": bool(self.shuffle),
            "minimise": self.sign < 0,
            "algorithm": self.algorithm.name,
            "model": type(self.algorithm.model).__name__,
            "settings": {name: _plain(value) for name, value in self.algorithm.settings().items()},
            "popsize": popsize,
            "seed": self.seed,
            "limits": {name: _plain(value) for name, value in dataclasses.asdict(self.limits).items()},
            "means": self.means.as_json(),
        }


def _plain(value: Any) -> Json:
    """Give a setting as JSON has it; NumPy's numbers are Python's."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else str(value)


def _restored(
    kept: State,
    path: str,
    objective: Objective | Problem | str | None,
    algorithm: str | Algorithm | Model | None,
) -> _Setup:
    """Make the parts of a run again from what a checkpoint says of it."""
    name, spec = kept.text("objective"), kept.text("spec") if kept.given("spec") else None
    if objective is None and spec is None:
        raise ValueError(
            f"expected the objective again, because a checkpoint holds no code: daedal.resume({path!r}, f), or daedal "
            f"resume {path} PROBLEM; it was {name!r}"
        )
    if objective is None and (file := problem_file(str(spec))[1]) is not None and not os.path.isfile(file):
        raise ValueError(f"expected the file of the problem {spec!r} that the run was on, found none; name it again")
    seed = kept.whole("seed")
    chosen = find_algorithm(algorithm) if algorithm is not None else find_algorithm_again(kept)
    if type(chosen.model).__name__ != kept.text("model"):
        raise ValueError(
            f"expected the algorithm of the run, {kept.text('algorithm')!r} with a model {kept.text('model')!r}, got "
            f"{chosen.name} with {type(chosen.model).__name__}; give it as algorithm=..."
        )
    task = make_task(
        objective if objective is not None else str(spec),
        kept.whole("n"),
        seed=seed,
        vectorized=kept.truth("vectorized"),
        shuffle=kept.truth("shuffle"),
    )
    if _essence(spec) != _essence(task.spec):
        raise ValueError(f"expected the objective of the run, {name!r}, got {task.name!r}")
    return _Setup(
        task=task,
        sign=-1 if kept.truth("minimise") else 1,
        algorithm=chosen,
        popsize=kept.whole("popsize"),
        seed=seed,
        limits=_limits_again(kept.inner("limits")),
        means=_means_again(kept.inner("means"), most_workers=kept.whole("popsize")),
        shuffle=kept.truth("shuffle"),
    )


def _essence(spec: str | None) -> str | None:
    """Say which problem a text names; a file may have been moved since."""
    if spec is None:
        return None
    kind, file = problem_file(spec)
    return canonical_problem(spec) if file is None else kind


def _limits_again(kept: State) -> Limits:
    _check_names(kept, Limits)
    return Limits(
        max_evaluations=kept.whole("max_evaluations") if kept.given("max_evaluations") else None,
        max_generations=kept.whole("max_generations") if kept.given("max_generations") else None,
        patience=kept.whole("patience") if kept.given("patience") else None,
        target=kept.number("target") if kept.given("target") else None,
        max_seconds=kept.number("max_seconds") if kept.given("max_seconds") else None,
    )


def _means_again(kept: State, *, most_workers: int) -> Means:
    """Make the means again; more workers than rows are of no use, and might be too many for this machine."""
    _check_names(kept, Means)
    means = Means(
        workers=min(kept.whole("workers"), most_workers),
        on_error=kept.text("on_error"),
        timeout=kept.number("timeout") if kept.given("timeout") else None,
        deduplicate=kept.truth("deduplicate"),
        cache=kept.text("cache") if kept.given("cache") else None,
        name=kept.text("name") if kept.given("name") else None,
        version=kept.text("version"),
    )
    if means.cache is not None and not os.path.isfile(means.cache):  # no file is made where a checkpoint says
        raise ValueError(
            f"expected the cache of the run at {means.cache!r}, found none; put it there (or an empty file)"
        )
    return means


def find_algorithm_again(kept: State) -> Algorithm:
    """Give the algorithm that a checkpoint names, with its settings."""
    settings = kept.inner("settings").fields
    algorithm, model = kept.text("algorithm"), kept.text("model")
    for name, value in {"algorithm": algorithm, "model": model, **settings}.items():
        if isinstance(value, list | dict) or not str(value).isprintable():
            raise ContainerError(f"expected the setting {name!r} in the checkpoint to be one value, got {value!r}")
    try:
        return restored_algorithm(algorithm, model, settings)
    except OverflowError as error:  # a whole number of more than 300 digits
        raise ContainerError(f"expected settings in the checkpoint that a run can have: {error}") from error


def _check_names(kept: State, of: type[Any]) -> None:
    known = {field.name for field in dataclasses.fields(of)} - {"executor"}
    odd = [name for name in kept.fields if name not in known]
    if odd:
        raise ContainerError(f"expected fields of {of.__name__} in the checkpoint, got {odd[0]!r}")


def _restore(run: Run, state: State) -> None:
    try:
        run.restore(state)
    except ContainerError:
        raise
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise ContainerError(f"the checkpoint does not fit its own run: {error}") from error


def _initial(initial: Initial | None, task: Task) -> tuple[Bits | None, NDArray[np.float64] | None]:
    """Give the rows to begin with, in the optimizer's order, and their values if they are known."""
    if initial is None:
        return None, None
    given, values = initial if isinstance(initial, tuple) else (initial, None)
    array = np.asarray(given)
    if array.ndim != 2 or array.dtype.kind not in "iub" or not np.isin(array, (0, 1)).all():
        raise ValueError(
            f"expected initial rows of 0 and 1, shape (rows, {task.n}), got shape={array.shape}, dtype={array.dtype}"
        )
    rows = np.ascontiguousarray(array, dtype=np.uint8)
    check_bits(rows, task.n)
    if values is None:
        return task.asked(rows), None
    numbers = as_numbers(values, source="as values of the initial rows")
    if numbers.shape != (len(rows),):
        raise ValueError(f"expected {len(rows)} values for {len(rows)} initial rows, got shape={numbers.shape}")
    if np.isnan(numbers).any():
        first = int(np.isnan(numbers).argmax())
        raise ValueError(f"expected a number as the value of each initial row, got nan for the {first + 1}. row")
    return task.asked(rows), numbers

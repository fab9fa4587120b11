"""The entry points for Python: maximize, minimize, resume."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from daedal.evaluation.caller import Objective
from daedal.evaluation.options import EXECUTOR_TIMEOUT, EvaluationOptions
from daedal.limits import Limits
from daedal.objectives.bound import AnyObjective, check_functions
from daedal.result import Result
from daedal.rng import check_seed
from daedal.run.config import DisplayFactory, RunConfig
from daedal.run.initial import Initial
from daedal.run.noise import noise_of
from daedal.run.view import Callback
from daedal.searches.presets import AnyAlgorithm, find_algorithm
from daedal.settings.parameters import Setting
from daedal.spaces.space import Variables, read_variables

if TYPE_CHECKING:
    from daedal.run.known import Earlier

_P = ParamSpec("_P")
_T = TypeVar("_T")


def maximize(
    objective: AnyObjective,
    n: Variables = None,
    *,
    constraints: Sequence[Objective] = (),
    violations: bool = False,
    algorithm: AnyAlgorithm = "auto",
    seed: int | None = None,
    max_evaluations: int | None = None,
    max_generations: int | None = None,
    max_seconds: float | None = None,
    patience: int | None = None,
    target: float | None = None,
    minimize: bool = False,
    vectorized: bool = True,
    shuffle: bool = True,
    initial: Initial | None = None,
    workers: int = 1,
    executor: Executor | None = None,
    executor_timeout: float = EXECUTOR_TIMEOUT,
    on_error: str = "raise",
    timeout: float | None = None,
    deduplicate: bool = True,
    noisy: bool = False,
    repeats: int | None = None,
    asynchronous: bool = False,
    run: str | os.PathLike[str] | None = None,
    known: Earlier | None = None,
    log: str | os.PathLike[str] | None = None,
    progress: bool = False,
    callback: Callback | None = None,
    **settings: Setting,
) -> Result:
    """Maximize a black-box function of bits or of a `Space` of discrete variables.

    Parameters
    ----------
    objective
        A function of an array of candidates, shape (rows, n), that returns one value per row. With a space, it takes a
        dict of columns (see `Space.decode`). With `vectorized=False`, it takes one candidate. A problem, or the name of
        one such as "hiff:n=64", works, too.
    n
        For a function: the number of bits, their names, a data frame that has them as columns, or a `Space`.
    constraints
        Functions of the same candidates. Each one returns by how much a candidate violates a constraint: more than 0
        if it does. A feasible candidate is better than any infeasible one. Of two infeasible ones, the one with the
        smaller total violation is better.
    violations
        If True, the objective returns a pair: its values, and the violations of shape (rows,) or (rows, constraints).
        With `vectorized=False` these are a value and one number per constraint. A program prints them after its value.
    algorithm
        A name (`daedal list` shows them), "path/to/file.py:NAME", an `Algorithm`, a configuration, a model, or an async
        function of your own: `async def climber(f, *, n, rng)`.
    seed
        The same seed gives the same result. Default: random.
    max_evaluations
        Maximum number of candidates for which the objective is called. Candidates with known values are free.
    max_generations, patience
        Maximum number of generations, and of generations without a better candidate. Default: those of the algorithm.
    max_seconds
        Maximum wall-clock time.
    target
        Objective value at which to stop. Default: the optimum, if it is known.
    minimize
        If True, smaller values are better, as in `minimize`.
    vectorized
        If False, the objective takes one candidate instead of a batch.
    shuffle
        If True, the variables of a named problem get a random order, so that no algorithm benefits from neighboring
        variables. The result has the original order.
    initial
        Candidates to start from: rows of bits, a dict of values by name, a list of dicts, or a data frame. Their values
        may be a column "fitness", or the second part of a pair. Candidates with values are not evaluated again, unless
        there are constraints.
    workers
        Number of worker processes. Up to 16 do not change the result.
    executor
        An external executor instead of workers: any `concurrent.futures.Executor`, or Dask's `client.get_executor()`.
    executor_timeout
        Seconds without contact after which the Dask scheduler or its workers count as lost.
    on_error
        Policy for an evaluation that raises, returns NaN, takes too long or kills its process. "raise" ends the run.
        "worst" counts the candidate as the worst possible. "retry:3" tries three more times and then raises, and
        "retry:3,worst" tries three more times and then counts it as the worst.
    timeout
        Maximum number of seconds for one evaluation.
    deduplicate
        If True, a repeated candidate is not evaluated again. Its stored value is used.
    noisy
        If True, the objective is noisy. The best candidate is chosen by repeated measurements, and `fitness` is the
        mean of several fresh ones, with its `standard_error`. A target is reached if such a mean reaches it.
    repeats
        Minimum number of measurements of the best candidate. Implies `noisy=True`.
    asynchronous
        If True, each worker gets the next candidate as soon as it is free. The result then depends on the order in
        which evaluations end. If False, candidates are evaluated in whole batches.
    run
        SQLite file that records every evaluation as it arrives. The same call with an existing file continues that
        run. `daedal.load` and `daedal report` read it.
    known
        Earlier evaluations, which are then free: a run file, a CSV file, a data frame, or a list of dicts with the
        values by name and a "fitness".
    log
        Folder for logs in the format of IOHanalyzer. Needs the extra `ioh`.
    progress
        If True, the progress is shown on standard error, or below the cell of a notebook.
    callback
        Function that is called with each `Generation`. If it returns True, the run stops.
    **settings
        Settings of the algorithm, such as `popsize=200`. The error for an unknown one lists the known ones.

    Returns
    -------
    Result
        The best candidate and how it was found. If you press Ctrl-C, it is the best candidate so far.

    Raises
    ------
    ObjectiveError
        An evaluation failed, and `on_error` says to raise, or all evaluations failed. Its attribute `best` is the best
        solution so far.

    Examples
    --------
    >>> import daedal
    >>> result = daedal.maximize(lambda x: x.sum(axis=1), n=20, algorithm="umda", seed=1)
    >>> result.fitness
    20.0
    """
    bits, space, names = read_variables(n)
    noise = noise_of(noisy, repeats, initial=initial)
    config = RunConfig(
        objective=objective,
        constraints=check_functions(constraints),
        violations=violations,
        n=bits,
        space=space,
        names=names,
        algorithm=find_algorithm(algorithm).with_settings(settings, keywords=_KEYWORDS),
        seed=check_seed(seed) if run is None else _seed_of(run, seed),
        minimize=minimize,
        vectorized=vectorized,
        shuffle=shuffle,
        limits=Limits(
            max_evaluations=max_evaluations,
            max_generations=max_generations,
            max_seconds=max_seconds,
            patience=patience,
            target=target,
        ),
        evaluation=EvaluationOptions(
            workers=workers,
            executor=executor,
            executor_timeout=executor_timeout,
            on_error=on_error,
            timeout=timeout,
            deduplicate=deduplicate and noise is None,
            asynchronous=asynchronous,
        ),
        noise=noise,
        initial=initial,
        known=known,
        file=None if run is None else os.path.abspath(run),
    )
    return config.run(display=_display(progress), callback=callback, log=log)


_KEYWORDS = tuple(inspect.signature(maximize).parameters)


def _same_parameters(as_those_of: Callable[_P, _T]) -> Callable[[Callable[..., _T]], Callable[_P, _T]]:
    """Return a decorator that gives a function the signature of another one, for readers and type checkers."""

    def signed(function: Callable[..., _T]) -> Callable[_P, _T]:
        function.__signature__ = inspect.signature(as_those_of)  # type: ignore[attr-defined]
        return function

    return signed


@_same_parameters(as_those_of=maximize)
def minimize(*objective: Any, **keywords: Any) -> Result:
    """Minimize a black-box function of bits or of a `Space` of discrete variables.

    The parameters are those of `maximize`. The target, the result, its history and the callback have the signs of the
    objective. The known optimum of a built-in problem is its maximum, so it does not count here.

    Examples
    --------
    >>> import daedal
    >>> result = daedal.minimize(lambda x: x.sum(axis=1), n=20, algorithm="umda", seed=1, target=0)
    >>> result.fitness, result.success
    (0.0, True)
    """
    return maximize(*objective, **{**keywords, "minimize": True})


def resume(
    run: str | os.PathLike[str],
    objective: AnyObjective | None = None,
    *,
    constraints: Sequence[Objective] = (),
    algorithm: AnyAlgorithm | None = None,
    max_evaluations: int | None = None,
    max_seconds: float | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    executor_timeout: float = EXECUTOR_TIMEOUT,
    known: Earlier | None = None,
    progress: bool = False,
    callback: Callback | None = None,
) -> Result:
    """Continue a recorded run, as if it had never been interrupted.

    The search starts over with the same seed and gets the recorded values, until it asks for one that is not in the
    file. A finished run continues if it gets more evaluations or time.

    Parameters
    ----------
    run
        Run file of `maximize` or `minimize`. New evaluations are added to it.
    objective
        The same objective, because a run file contains no code. Built-in problems are known by name.
    constraints
        The same functions, if there were any.
    algorithm
        The same algorithm, if it is your own.
    max_evaluations, max_seconds
        New limits. Default: the previous ones.
    workers, executor
        Worker processes, or an executor. Default: the previous number of workers.
    executor_timeout, known, progress, callback
        As for `maximize`.

    Examples
    --------
    >>> import daedal, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "run.db"
    ...     half = daedal.maximize("trap:k=5,n=50", seed=1, max_evaluations=500, run=path)
    ...     whole = daedal.resume(path, max_evaluations=5000)
    >>> half.success, whole.success
    (False, True)
    """
    from daedal.run.resume import resumed

    limits = {"max_evaluations": max_evaluations, "max_seconds": max_seconds}
    config = resumed(run, objective, algorithm, check_functions(constraints), limits=limits, known=known)
    config = config.evaluated_by(workers=workers, executor=executor, executor_timeout=executor_timeout)
    return config.run(display=_display(progress), callback=callback)


def _seed_of(run: str | os.PathLike[str], seed: int | None) -> int:
    from daedal.run.resume import seed_of  # here, because a run that is not recorded needs none of it

    return seed_of(run, seed)


def load(path: str | os.PathLike[str]) -> Result:
    """Return the result of a run from its run file, without executing anything.

    If the run is not finished, the result contains the evaluations so far.

    Examples
    --------
    >>> import daedal, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "run.db"
    ...     result = daedal.maximize("onemax:n=20", seed=1, run=path)
    ...     daedal.load(path).fitness
    20.0
    """
    from daedal.run.reading import load_run

    return load_run(path)


def _display(wanted: bool) -> DisplayFactory | None:
    if not wanted:
        return None
    from daedal.cli.live_display import LiveDisplay, NotebookDisplay, is_notebook

    return NotebookDisplay if is_notebook() else LiveDisplay

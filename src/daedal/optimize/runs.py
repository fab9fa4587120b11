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
    """Find the bits with the largest value of an objective.

    Parameters
    ----------
    objective
        A function of an array of 0/1 rows, shape (rows, n), that gives one number per row (it may get a large batch in
        parts); a function of one row, with vectorized=False; a problem; or the name of one ("hiff:n=64"). In a space,
        a function of a dict of columns, see `Space.decode`, or, with vectorized=False, of one plain dict.
    n
        For a function: the number of its bits; their names, or a data frame that has them as columns; or a `Space`.
    constraints
        Functions of the same rows as the objective, each of which gives by how much a row violates something: 0 or
        less where it does not. A feasible row is better than any other, then one of less violation in sum.
    violations
        If True, the objective itself returns violations: a pair of its values and by how much each constraint is
        violated, shape (rows,) or (rows, constraints), or a value and one number per constraint with vectorized=False.
        A program prints them after its value. Default: False, and such a pair is an error.
    algorithm
        A name (`daedal list` shows them), "path/to/file.py:NAME", an `Algorithm`, a configuration, a model, or an async
        function of your own, `async def climber(f, *, n, rng)`.
    seed
        Same seed, same result.
    max_evaluations, max_generations, max_seconds, patience, target
        What ends the run: see `Limits`. `max_evaluations` is the number of rows that the objective is called for;
        rows that are known are free. What is not given comes from the algorithm, and the target from a problem's known
        optimum.
    minimize
        Whether to look for the smallest value instead: see `minimize`.
    vectorized
        Whether the objective takes a batch or one row.
    shuffle
        Whether a problem called by name gets its variables in a random order, so that nobody profits from adjacency;
        x is reported in the problem's own order.
    initial
        Rows to begin with, shape (rows, n), in the objective's own order; or, with a space or names, a dict of values
        by name, a list of dicts, a data frame (with a column "fitness" where their values are known); or a pair of any
        of these and their values, which are then not evaluated again, unless there are constraints. Random rows fill up
        the population.
    workers
        Processes to evaluate with. Up to 16 do not change the result.
    executor
        Somebody else's workers instead: any concurrent.futures.Executor, or Dask's `client.get_executor()`.
    executor_timeout
        Seconds without a sign of Dask's scheduler, or of any worker there, after which what is under way has failed.
    on_error
        When an evaluation raises, gives nan, takes too long or ends its process: "raise"; "worst": the row counts as
        the worst there is, and is written down; "retry:3": three more tries, then raise; "retry:3,worst".
    timeout
        Seconds that one evaluation may take.
    deduplicate
        Whether a row that comes again has the value it had before.
    noisy
        Whether values differ from call to call. Then every row that is asked for is evaluated, the best is chosen by
        means of repeated evaluations, which are spent where they decide, and fitness is such a mean, with its
        `standard_error`; a target is reached when a mean reaches it.
    repeats
        How often the best is measured at least, where `max_evaluations` allows it; implies noisy=True.
    asynchronous
        If True, each worker gets the next candidate as soon as it is free, which keeps workers busy where evaluations
        take different times. The result then depends on which evaluation ends first. If False, candidates are
        evaluated in whole batches, and the result does not depend on the number of workers.
    run
        A file that records the run (SQLite): every evaluation as it arrives. The same call with an existing file
        continues that run, `daedal.load` and `daedal report` read it, and other runs can use it as `known`.
    known
        Earlier evaluations, which are then free: the run file of another run, a CSV file, a data frame or a list of
        dicts, in which each row has values by name and a "fitness".
    log
        A folder in which the run gets a folder of its own, for IOHanalyzer: every call of the objective that was better
        than those before, and the last one. Needs the extra `ioh`.
    progress
        Whether to show the run as it goes: in a notebook below the cell, elsewhere on standard error.
    callback
        Called with each `Generation`; returns True to stop the run.
    **settings
        Settings of the algorithm, such as popsize=200 or corruption=0.05; an unknown one lists the known ones.

    Returns
    -------
    Result
        Also when the run is interrupted with Ctrl-C: the best so far.

    Raises
    ------
    ObjectiveError
        The objective failed, and `on_error` says to raise; its `best` is the best so far.

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
    """Give a function the signature of another, for those who read it and for type checkers."""

    def signed(function: Callable[..., _T]) -> Callable[_P, _T]:
        function.__signature__ = inspect.signature(as_those_of)  # type: ignore[attr-defined]
        return function

    return signed


@_same_parameters(as_those_of=maximize)
def minimize(*objective: Any, **keywords: Any) -> Result:
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
    """Continue a run from its file; the result is that of a run that was never interrupted.

    The search begins again with the same seed and gets the recorded values, until it asks for one that is not in the
    file. A finished run continues if it gets more evaluations or time.

    Parameters
    ----------
    run
        The file that `maximize` or `minimize` recorded; new evaluations are added to it.
    objective
        The same objective again. A problem that was named ("hiff:n=64") need not be given: a run file holds numbers and
        names, and no code.
    constraints
        The same functions again, if there were any.
    algorithm
        The same algorithm again, if it is not one of daedal's own.
    max_evaluations, max_seconds
        New limits. Default: as before.
    workers, executor
        Processes, or an executor, to evaluate with. Default: as before.
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
    """Return the result of a run from its file; nothing in the file is run.

    Of a run that is under way, or was killed, it is what is known so far.

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

"""The front door: maximize, minimize, resume."""

from __future__ import annotations

import dataclasses
import os
from concurrent.futures import Executor

from daedal.evaluation.caller import Objective
from daedal.evaluation.options import EvaluationOptions
from daedal.limits import Limits
from daedal.models.base import Model
from daedal.objectives.bound import bind
from daedal.optimizers.presets import Algorithm, find_algorithm
from daedal.problems import Problem
from daedal.result import Result
from daedal.rng import check_seed
from daedal.run.checkpoint import EVERY, Checkpointer, load, taken
from daedal.run.config import Initial, Recipe
from daedal.run.loop import Callback
from daedal.run.resuming import recipe_again
from daedal.settings.parameters import Setting


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
        means=EvaluationOptions(
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
        keeper=None if checkpoint is None else Checkpointer(checkpoint, every),
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
        means=EvaluationOptions(
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
        keeper=None if checkpoint is None else Checkpointer(checkpoint, every),
        progress=progress,
        callback=callback,
    )


def _start(
    objective: Objective | Problem | str,
    n: int | None,
    *,
    sign: int,
    algorithm: Algorithm,
    popsize: int | None,
    seed: int,
    limits: Limits,
    means: EvaluationOptions,
    vectorized: bool,
    shuffle: bool,
    initial: Initial | None,
    keeper: Checkpointer | None,
    progress: bool,
    callback: Callback | None,
) -> Result:
    """Maximise sign * objective: make the optimizer, run it, report in the objective's own signs."""
    if callback is not None and not callable(callback):
        raise TypeError(f"expected a function as callback, got callback={callback!r}")
    task = bind(objective, n, seed=seed, popsize=popsize, vectorized=vectorized, shuffle=shuffle)
    recipe = Recipe(
        task=task,
        sign=sign,
        algorithm=algorithm,
        popsize=popsize,
        seed=seed,
        limits=algorithm.limits(limits),
        means=means,
        shuffle=shuffle,
    )
    return recipe.run(None, initial=initial, keeper=keeper, progress=progress, callback=callback)


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
    recipe = recipe_again(taken(state, "description"), os.fspath(checkpoint), objective, algorithm)
    means = recipe.means
    if executor is not None:
        means = dataclasses.replace(means, workers=1 if workers is None else workers, executor=executor)
    elif workers is not None:
        means = dataclasses.replace(means, workers=workers)
    recipe = dataclasses.replace(recipe, means=means)
    return recipe.run(state, initial=None, keeper=Checkpointer(checkpoint, every), progress=progress, callback=callback)

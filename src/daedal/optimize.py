"""The front door: maximize and minimize."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

import numpy as np

from daedal import cache
from daedal.bits import Bits, to_text
from daedal.eda import EDA, choose_popsize
from daedal.evaluation import Evaluator, Objective
from daedal.models.base import Model
from daedal.optimizer import Best, Generation
from daedal.presets import Algorithm, find_algorithm
from daedal.problems import Problem, shuffled
from daedal.progress import LiveTable
from daedal.registry import find_problem
from daedal.rng import Stream, check_seed, stream
from daedal.settings import Setting
from daedal.stopping import Limits, StopReason, meets

Callback: TypeAlias = Callable[[Generation], object]
"""Called after each generation; returns True to stop the run."""


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
    unique_evaluations
        Rows that the objective was really called with: the others had been evaluated before.
    generations
        Generations after the first, random one.
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
    unique_evaluations: int
    generations: int
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


@dataclass(frozen=True, kw_only=True)
class _Task:
    """An objective made ready: how to call it, its size, its optimum, and how to read its rows."""

    name: str
    evaluate: Evaluator
    n: int
    optimum: float | None
    restore: Callable[[Bits], Bits]


def maximize(
    objective: Objective | Problem | str,
    n: int | None = None,
    *,
    algorithm: str | Algorithm | Model = "dae",
    popsize: int | None = None,
    seed: int | None = None,
    max_evaluations: int | None = None,
    max_generations: int | None = None,
    patience: int | None = None,
    target: float | None = None,
    vectorized: bool = True,
    shuffle: bool = True,
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
    max_evaluations, max_generations, patience, target
        What ends the run: see `Limits`. Generations and patience come from the algorithm where not given, and the
        target from a problem's known optimum.
    vectorized
        Whether the objective takes a batch or one row.
    shuffle
        Whether a problem called by name gets its variables in a random order, so that nobody profits from adjacency;
        x is reported in the problem's own order.
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
    return _optimize(
        objective,
        n,
        sign=1,
        algorithm=find_algorithm(algorithm).with_settings(settings),
        popsize=popsize,
        seed=check_seed(seed),
        limits=Limits(
            max_evaluations=max_evaluations, max_generations=max_generations, patience=patience, target=target
        ),
        vectorized=vectorized,
        shuffle=shuffle,
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
    patience: int | None = None,
    target: float | None = None,
    vectorized: bool = True,
    shuffle: bool = True,
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
    return _optimize(
        objective,
        n,
        sign=-1,
        algorithm=find_algorithm(algorithm).with_settings(settings),
        popsize=popsize,
        seed=check_seed(seed),
        limits=Limits(
            max_evaluations=max_evaluations, max_generations=max_generations, patience=patience, target=target
        ),
        vectorized=vectorized,
        shuffle=shuffle,
        progress=progress,
        callback=callback,
    )


def _optimize(
    objective: Objective | Problem | str,
    n: int | None,
    *,
    sign: int,
    algorithm: Algorithm,
    popsize: int | None,
    seed: int,
    limits: Limits,
    vectorized: bool,
    shuffle: bool,
    progress: bool,
    callback: Callback | None,
) -> Result:
    """Maximise sign * objective: make the optimizer, run it, report in the objective's own signs."""
    if callback is not None and not callable(callback):
        raise TypeError(f"expected a function as callback, got callback={callback!r}")
    task = _task(objective, n, sign=sign, seed=seed, popsize=popsize, vectorized=vectorized, shuffle=shuffle)
    limits = algorithm.limits(limits)
    goal = limits.target if limits.target is not None else task.optimum  # as the user has it
    optimizer = algorithm.optimizer(
        n=task.n,
        popsize=popsize,
        seed=seed,
        limits=dataclasses.replace(limits, target=None if goal is None else sign * goal),
    )
    title = f"{algorithm.name} on {task.name}, popsize {optimizer.popsize}, seed {seed}"
    algorithm.model.prepare()
    cache.prepare()
    with LiveTable(title, goal=goal) if progress else nullcontext() as table:
        history, best, stop = _loop(optimizer, task.evaluate, sign=sign, table=table, callback=callback)
    return Result(
        x=task.restore(best.x).copy(),
        fitness=sign * best.fitness,
        success=None if goal is None else meets(best.fitness, sign * goal),
        stop=stop,
        evaluations=history[-1].evaluations,
        evaluations_to_best=best.evaluations,
        unique_evaluations=task.evaluate.carried_out,
        generations=history[-1].generation,
        cpu_seconds=history[-1].cpu_seconds,
        cpu_seconds_to_best=history[best.generation].cpu_seconds,
        history=tuple(history),
        algorithm=algorithm.name,
        settings=algorithm.settings(),
        popsize=optimizer.popsize,
        seed=seed,
        optimum=task.optimum,
    )


def _loop(
    optimizer: EDA, evaluate: Evaluator, *, sign: int, table: LiveTable | None, callback: Callback | None
) -> tuple[list[Generation], Best, StopReason]:
    """Ask and tell until the optimizer, the callback or the user says stop.

    An interrupt may come anywhere, so the best that is given back is the one of the last whole generation.
    """
    started = time.process_time()
    history: list[Generation] = []
    best: Best | None = None
    try:
        while optimizer.stop is None:
            optimizer.tell(evaluate(optimizer.ask()))
            assert optimizer.last is not None
            assert optimizer.best is not None
            record = dataclasses.replace(
                optimizer.last,
                best=sign * optimizer.last.best,
                mean=sign * optimizer.last.mean,
                cpu_seconds=time.process_time() - started,
            )
            history.append(record)
            best = optimizer.best
            if table is not None:
                table.update(record)
            if callback is not None and _is_true(callback(record)):
                return history, best, optimizer.stop or StopReason.CALLBACK
    except KeyboardInterrupt:
        if best is None:
            raise  # nothing was evaluated yet
        return history, best, StopReason.INTERRUPTED
    assert best is not None
    assert optimizer.stop is not None
    return history, best, optimizer.stop


def _is_true(answer: object) -> bool:
    """Whether the answer is True itself, or NumPy's; anything else that is not empty does not count."""
    return isinstance(answer, bool | np.bool_) and bool(answer)


def _task(
    objective: Objective | Problem | str,
    n: int | None,
    *,
    sign: int,
    seed: int,
    popsize: int | None,
    vectorized: bool,
    shuffle: bool,
) -> _Task:
    """Make an objective ready to be called."""
    if isinstance(objective, str):
        problem = find_problem(objective)
        _check_n(n, problem.n)
        choose_popsize(popsize, problem.n)  # refuses an n that no memory holds, before its order is drawn
        problem.evaluate(np.zeros((1, problem.n), dtype=np.uint8))  # loads its kernel before the clock starts
        if not shuffle:
            return _problem_task(problem, objective, sign=sign, restore=_unchanged)
        mixed = shuffled(problem, rng=stream(seed, Stream.SHUFFLE))
        return _problem_task(mixed, objective, sign=sign, restore=mixed.restore)
    if not isinstance(objective, type) and _is_problem(objective):
        _check_n(n, objective.n)
        return _problem_task(objective, repr(objective), sign=sign, restore=_unchanged)
    if not callable(objective) or isinstance(objective, type):
        raise TypeError(
            f"expected a function, a problem or its name as objective, got {type(objective).__name__}: {objective!r}"
        )
    if n is None:
        raise ValueError("expected n, the number of variables, beside a function, as in maximize(f, n=60)")
    return _Task(
        name=getattr(objective, "__name__", type(objective).__name__),
        evaluate=Evaluator(objective, vectorized=vectorized, sign=sign, deduplicate=True),
        n=n,
        optimum=None,
        restore=_unchanged,
    )


def _problem_task(problem: Problem, name: str, *, sign: int, restore: Callable[[Bits], Bits]) -> _Task:
    return _Task(
        name=name,
        evaluate=Evaluator(problem.evaluate, sign=sign, dtype=np.uint8, deduplicate=True),
        n=problem.n,
        optimum=getattr(problem, "optimum", None) if sign > 0 else None,  # the optimum is the largest value
        restore=restore,
    )


def _is_problem(objective: Objective | Problem) -> TypeGuard[Problem]:
    """Not by isinstance: Python 3.11 would compute a landscape's optimum for that."""
    return hasattr(objective, "evaluate") and hasattr(objective, "n")


def _check_n(n: int | None, own: int) -> None:
    if n is not None and n != own:
        raise ValueError(f"expected n={own}, which the problem has, or no n, got n={n}")


def _unchanged(x: Bits) -> Bits:
    return x

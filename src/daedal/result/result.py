"""What a run found, and how, also as plain values and arrays for a run file."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.answers import Failure
from daedal.limits import Limits, StopReason
from daedal.result.records import Generation
from daedal.result.trace import Curve, Trace
from daedal.settings.checks import check_whole
from daedal.settings.lazy import missing_extra
from daedal.settings.parameters import Setting, plain
from daedal.spaces.space import FITNESS, Space, describe, described
from daedal.spaces.variables import Value
from daedal.types import Bits, Json, from_text, to_text

if TYPE_CHECKING:
    from pandas import DataFrame


class Solution(NamedTuple):
    """An evaluated candidate, shape (n,), and its value."""

    x: Bits
    fitness: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """Result of a run: the best solution, and how it was found.

    Attributes
    ----------
    x
        The best bits, shape (n,), in the order of the objective's variables.
    fitness
        Their objective value. If the objective is noisy, the mean of several values.
    standard_error, measurements
        If the objective is noisy: the standard error of this mean, and the number of its values. None of them was used
        to choose x. Otherwise None and 1.
    feasible
        True if x is feasible. Otherwise nothing feasible was found, and x is the best of the infeasible candidates.
    violation, violations
        By how much x violates the constraints, in total and each. The total is 0 if x is feasible, and inf if its value
        is -inf.
    success
        True if the target or the known optimum was reached. None if there is neither.
    stop
        Why the run ended. `stop.message` says it in a sentence.
    evaluations, evaluations_to_best
        Calls of the objective, one per candidate, in total and up to the batch that found x. `max_evaluations` limits
        them, and failed evaluations are included.
    failed, failures
        Number of failed evaluations, and the first of them with their reasons.
    repeated
        Candidates that were free, because they were repeated or known.
    batches
        Number of batches. The candidates of a batch can be evaluated at the same time.
    generations
        Number of generations after the first one.
    seconds
        Wall-clock time.
    cpu_seconds, cpu_seconds_to_best
        CPU time of this process, in total and up to the generation that found x. It includes the objective, but not
        the compilation of kernels.
    history
        One record per generation.
    algorithm, settings, popsize, seed
        The algorithm and its settings. `popsize` is None for an algorithm without a population size.
    optimum
        The known optimum of the problem, or None.
    explanation
        What the algorithm chose to do, and why. Empty if it had no choice.
    space, names
        The space, or the names of the bits, if there are any.
    problem
        Name of the objective.
    minimize
        If True, smaller values are better.
    limits
        The limits of the run. Its target is the one that was passed, not the known optimum.
    again
        One line that repeats the run: a command, or a line of Python if the objective is a function.
    trace
        Populations, training curves and what the search learned, for reports and plots. None if nothing was kept.

    Examples
    --------
    >>> import daedal
    >>> space = daedal.Space(size=daedal.Integer(1, 9), mode=daedal.Choice("fast", "small"))
    >>> result = daedal.maximize(lambda values: values["size"] + (values["mode"] == "fast"), space, seed=1)
    >>> result.best
    {'size': 9, 'mode': 'fast'}
    """

    x: Bits
    fitness: float
    feasible: bool
    violation: float
    violations: tuple[float, ...]
    success: bool | None
    stop: StopReason
    evaluations: int
    evaluations_to_best: int
    failed: int
    failures: tuple[Failure, ...]
    repeated: int
    batches: int
    generations: int
    seconds: float
    cpu_seconds: float
    cpu_seconds_to_best: float
    history: tuple[Generation, ...]
    algorithm: str
    settings: dict[str, Setting]
    popsize: int | None
    seed: int
    optimum: float | None
    explanation: str = ""
    standard_error: float | None = None
    measurements: int = 1
    space: Space | None = None
    names: tuple[str, ...] | None = None
    problem: str = ""
    minimize: bool = False
    limits: Limits = field(default_factory=Limits)
    again: str = ""
    trace: Trace | None = None

    @property
    def n(self) -> int:
        """Number of bits."""
        return len(self.x)

    @property
    def best(self) -> dict[str, Value] | None:
        """The best values by name; None for bits without names."""
        return None if self.space is None and self.names is None else self.values(self.x)

    @property
    def mask(self) -> NDArray[np.bool_]:
        """The best bits as booleans, shape (n,). For example, `X.columns[result.mask]` are the chosen columns."""
        return self.x.astype(np.bool_)

    def top(self, count: int = 10) -> list[Solution]:
        """Return the best candidates that were evaluated, the best first. At most 100 are kept.

        If the objective is noisy, this is x alone.

        Examples
        --------
        >>> import daedal
        >>> [solution.fitness for solution in daedal.maximize("onemax:n=20", seed=1).top(3)]
        [20.0, 18.0, 14.0]
        """
        trace, count = self.trace, check_whole("count", count, least=1)
        if trace is None or not len(trace.top):
            return [Solution(self.x, self.fitness)]
        best = zip(trace.top[:count], trace.top_fitness[:count].tolist(), strict=True)
        return [Solution(x, value) for x, value in best]

    def values(self, x: Bits) -> dict[str, Value]:
        """Return the values of a candidate by name. Bits without names are called x0, x1, ..."""
        if self.space is not None:
            return self.space.value(x)
        names = self.names or [f"x{i}" for i in range(self.n)]
        return dict(zip(names, x.astype(np.bool_).tolist(), strict=True))

    def frame(self, count: int = 1) -> DataFrame:
        """Return the best solutions as a pandas data frame with their values by name and a column "fitness".

        You can pass it to another run as `initial`.
        """
        try:
            import pandas
        except ImportError as error:
            raise missing_extra("a data frame needs pandas", "frame") from error
        rows = [Solution(self.x, self.fitness)] if count == 1 else self.top(count)
        return pandas.DataFrame([{**self.values(row.x), FITNESS: row.fitness} for row in rows])

    @property
    def score(self) -> float:
        """The value by which runs are compared: the fitness, or the worst possible value if nothing is feasible."""
        return self.fitness if self.feasible or not self.history else self.history[-1].best

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a report of the run: one HTML file. An existing report is replaced, any other file is kept.

        It opens in any browser, without a network.

        Examples
        --------
        >>> import daedal, os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     daedal.maximize("onemax:n=20", seed=1).report(os.path.join(folder, "report.html"))
        ...     os.listdir(folder)
        ['report.html']
        """
        from daedal.report.page import write_page  # here, because the report is above, and nothing else needs it
        from daedal.report.run_page import run_page

        write_page(path, lambda: run_page(self))

    def _repr_html_(self) -> str:
        from daedal.result.wording import card  # here, because only notebooks use it

        return card(self)

    def __repr__(self) -> str:
        size = "" if self.popsize is None else f", popsize={self.popsize}"
        feasible = "" if self.feasible else f"feasible=False, violation={self.violation:g}, "
        error = "" if self.standard_error is None else f"standard_error={self.standard_error:.2g}, "
        shown = f"x={to_text(self.x)}" if self.best is None else f"best={self.best}"
        return (
            f"Result(fitness={self.fitness:g}, {error}{feasible}{shown}, success={self.success}, "
            f"stop={self.stop}, evaluations={self.evaluations}, generations={self.generations}, "
            f"cpu_seconds={self.cpu_seconds:.2f}, algorithm={self.algorithm}{size}, seed={self.seed})"
        )


_APART = ("history", "trace")  # fields of a result that have a place of their own in a file
_PACKED = ("rows", "top", "seen")
_FIGURES = tuple(field.name for field in dataclasses.fields(Generation) if field.name != "info")


def result_to_json(result: Result) -> dict[str, Json]:
    """Return all of a result but its records and its trace as plain values."""
    fields = {one.name: getattr(result, one.name) for one in dataclasses.fields(Result) if one.name not in _APART}
    return fields | {
        "x": to_text(result.x),
        "violations": list(result.violations),
        "stop": result.stop.value,
        "failures": [[failure.x, failure.error] for failure in result.failures],
        "settings": {name: plain(value) for name, value in result.settings.items()},
        "space": None if result.space is None else describe(result.space),
        "names": None if result.names is None else list(result.names),
        "limits": {name: plain(value) for name, value in dataclasses.asdict(result.limits).items()},
    }


def result_from_json(
    kept: Mapping[str, Any], records: Sequence[Mapping[str, Any]], arrays: Mapping[str, NDArray[Any]] | None
) -> Result:
    """Return the result that the other functions have taken apart; ValueError for anything else."""
    try:
        x = from_text(kept["x"])
        result = Result(
            **{
                **kept,
                "x": x,
                "violations": tuple(map(float, kept["violations"])),
                "stop": StopReason(kept["stop"]),
                "failures": tuple(Failure(str(one), str(error)) for one, error in kept["failures"]),
                "settings": dict(kept["settings"]),
                "space": None if kept["space"] is None else described(kept["space"]),
                "names": None if kept["names"] is None else tuple(map(str, kept["names"])),
                "limits": Limits(**kept["limits"]),
                "history": tuple(map(record_from_json, records)),
                "trace": None if arrays is None else _trace(arrays, len(x)),
            }
        )
        if (result.space is not None and result.space.n != result.n) or len(result.names or x) != result.n:
            raise ValueError(f"expected names, or a space, of {result.n} bits")
        repr(result)  # whatever has to be a number is one
        return result
    except (TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


def record_to_json(record: Generation) -> dict[str, Json]:
    """Return the figures of a generation as plain values."""
    return {**{name: getattr(record, name) for name in _FIGURES}, "info": dict(record.info)}


def record_from_json(kept: Mapping[str, Any]) -> Generation:
    """Return the record that `record_to_json` gave."""
    try:
        info = {str(name): value for name, value in kept["info"].items() if _is_number(value)}
        figures = {name: kept[name] for name in _FIGURES}
    except (KeyError, AttributeError) as error:
        raise ValueError(f"a record of a generation is damaged ({type(error).__name__}: {error})") from error
    if not all(_is_number(value) for name, value in figures.items() if name != "sd"):
        raise ValueError(f"a record of a generation has values that are no numbers: {figures!r:.80}")
    return Generation(**figures, info=info)


def _is_number(value: object) -> bool:
    """Return True for a number that is not too large for a float or a table."""
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**63)


def trace_to_arrays(trace: Trace) -> dict[str, NDArray[Any]]:
    """Return a trace as plain arrays."""
    arrays: dict[str, NDArray[Any]] = {
        "generations": trace.generations,
        "ones": trace.ones,
        "fitness": trace.fitness,
        "look": trace.look.astype(np.int64),
        "top_fitness": trace.top_fitness,
        "seen_fitness": trace.seen_fitness,
        "flips": trace.flips,
        "others": trace.others,
        "source": np.array(trace.source),
        "curves": np.array([[curve.generation, len(curve.epochs)] for curve in trace.curves], np.int64).reshape(-1, 2),
        "epochs": np.concatenate([np.empty(0, np.int64), *(curve.epochs for curve in trace.curves)]),
        "errors": np.concatenate([np.empty(0), *(curve.errors for curve in trace.curves)]),
        **{name: np.packbits(getattr(trace, name), axis=1) for name in _PACKED},
    }
    if trace.linkage is not None:
        arrays["linkage"] = trace.linkage
    return arrays


def _trace(arrays: Mapping[str, NDArray[Any]], n: int) -> Trace:
    looks = len(arrays["generations"])
    rows, top, seen = (_bits(arrays[name], n) for name in _PACKED)
    curves, linkage = arrays["curves"].reshape(-1, 2), arrays.get("linkage")
    ends = np.cumsum(curves[:, 1])[:-1]
    parts = zip(np.split(arrays["epochs"], ends), np.split(arrays["errors"], ends), strict=True)
    look = arrays["look"].astype(np.int64)
    if len(look) != len(rows) or (len(look) and not 0 <= look.min() <= look.max() < looks):
        raise ValueError("expected the looks that rows belong to")
    return Trace(
        generations=arrays["generations"].astype(np.int64),
        ones=_numbers(arrays["ones"], looks, n).astype(np.float32),
        rows=rows,
        fitness=_numbers(arrays["fitness"], len(rows)),
        look=look,
        linkage=None if linkage is None else _numbers(linkage, n, n).astype(np.float32),
        source=str(arrays["source"]),
        curves=tuple(
            Curve(generation=int(generation), epochs=epochs, errors=errors)
            for (generation, _), (epochs, errors) in zip(curves, parts, strict=False)
        ),
        top=top,
        top_fitness=_numbers(arrays["top_fitness"], len(top)),
        flips=_numbers(arrays["flips"], n),
        others=_numbers(arrays["others"], n),
        seen=seen,
        seen_fitness=_numbers(arrays["seen_fitness"], len(seen)),
    )


def _numbers(array: NDArray[Any], *shape: int) -> NDArray[np.float64]:
    if array.shape != shape or array.dtype.kind != "f":
        raise ValueError(f"expected numbers of shape {shape} in a trace, got shape={array.shape}")
    return array.astype(np.float64)


def _bits(packed: NDArray[Any], n: int) -> Bits:
    if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != -(-n // 8):
        raise ValueError(f"expected packed rows of {n} bits in a trace, got shape={packed.shape}")
    return np.unpackbits(packed, axis=1, count=n)

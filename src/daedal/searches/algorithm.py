"""Algorithms: a name, a line of description, and a configuration that makes the search."""

from __future__ import annotations

import dataclasses
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from daedal.engine import Engine, Search
from daedal.limits import Limits
from daedal.models.base import Fitted, TrainingCurve
from daedal.rng import Stream
from daedal.settings.parameters import (
    REQUIRED,
    Parameter,
    Setting,
    UnknownSettingError,
    coerce,
    current,
    parameters,
)
from daedal.types import Bits, Fitness

_GIVEN = ("n", "rng", "seed")
"""Keywords that an async function of the user's own gets if it takes them; all others are its settings."""

NARROW = 16
"""Workers up to which batches are as they are, so that the result does not depend on their number."""

WIDEST = 100_000
"""Maximum number of candidates in a batch."""


@dataclass(frozen=True, kw_only=True)
class Configuration(ABC):
    """The settings of an algorithm as a frozen dataclass, which makes the search.

    A field that is itself a dataclass, such as a model, stands for its own fields.
    """

    @abstractmethod
    def search(self, f: Engine, limits: Limits) -> Search:
        """Return the search.

        Parameters
        ----------
        f
            The engine that evaluates candidates.
        limits
            What ends the run. Only a search that runs one population after the other needs them.
        """

    def noisy_search(self, f: Engine, limits: Limits) -> Search:
        """Return the search for an objective that is known to be noisy: the same, unless a subclass knows better."""
        return self.search(f, limits)

    def prepare(self, n: int, max_evaluations: int | None) -> None:  # noqa: B027  most need nothing
        """Compile or load what the search will need, so that the clock measures the run alone."""

    def run_limits(self, limits: Limits) -> Limits:
        """Return the limits that are the run's: all, unless some are those of each population."""
        return limits

    hint: ClassVar[str] = ""
    """What else to try, said to who gives a setting that is not there."""

    @property
    def kind(self) -> str:
        """What kind of algorithm this is, apart from its settings."""
        return type(self).__name__

    def resolved(self, n: int, *, max_evaluations: int | None = None, workers: int = 1) -> Configuration:
        """Return the configuration with defaults for everything that is not set, such as the population size.

        Parameters
        ----------
        n
            Number of variables.
        max_evaluations
            The evaluations that there are for it, if anybody knows.
        workers
            How many rows can be evaluated side by side.
        """
        return self

    def budget_warning(self, max_evaluations: int) -> str | None:
        """Return a warning if the evaluations are too few for this resolved configuration."""
        return None

    def generation_seconds(self, n: int) -> float:
        """Return the approximate CPU time of a generation of this resolved configuration; 0 if it is unknown."""
        return 0.0

    def parameters(self) -> dict[str, Parameter]:
        """List what can be set, with the values in force as defaults."""
        known: dict[str, Parameter] = {}
        for name, parameter in parameters(type(self)).items():
            value = getattr(self, name)
            inner = parameters(type(value)) if dataclasses.is_dataclass(value) else {name: parameter}
            known |= inner
        values = self.settings()
        return {name: dataclasses.replace(one, default=values[name]) for name, one in known.items()}

    def settings(self) -> dict[str, Setting]:
        """Return the values in force, by name."""
        values: dict[str, Setting] = {}
        for name, value in current(self).items():
            values |= current(value) if dataclasses.is_dataclass(value) else {name: value}
        return values

    def with_settings(self, values: Mapping[str, Setting]) -> Configuration:
        """Return the configuration with some values changed."""
        own: dict[str, Any] = {}
        for name, value in current(self).items():
            if dataclasses.is_dataclass(value) and not isinstance(value, type):
                inner = {key: values[key] for key in current(value) if key in values}
                own[name] = dataclasses.replace(value, **inner) if inner else value
            elif name in values:
                own[name] = values[name]
        return dataclasses.replace(self, **own)


@dataclass(frozen=True, kw_only=True)
class OwnSearch(Configuration):
    """An async function of the user's own, as in `async def climber(f, *, n, rng)`.

    Parameters
    ----------
    function
        Called with the engine, and by keyword with those of n, rng and seed that it takes; its other parameters are
        the settings.
    values
        Settings that were changed.
    """

    function: Callable[..., Search]
    values: tuple[tuple[str, Setting], ...] = field(default=())

    @property
    def kind(self) -> str:
        """The function's own name."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def search(self, f: Engine, limits: Limits) -> Search:
        """Call the function."""
        given = {"n": f.n, "rng": f.stream(Stream.SEARCH), "seed": f.seed}
        takes = inspect.signature(self.function).parameters.values()
        everything = any(one.kind is one.VAR_KEYWORD for one in takes)
        names = {one.name for one in takes if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)}
        keywords = {name: value for name, value in given.items() if everything or name in names}
        return self.function(f, **keywords, **dict(self.values))

    def parameters(self) -> dict[str, Parameter]:
        """List the function's own parameters, with the values in force as defaults."""
        values, (_engine, *others) = dict(self.values), parameters(self.function).items()
        return {
            name: dataclasses.replace(one, default=values.get(name, one.default))
            for name, one in others
            if name not in _GIVEN
        }

    def settings(self) -> dict[str, Setting]:
        """Return the values in force, by name."""
        return {name: one.default for name, one in self.parameters().items() if one.default is not REQUIRED}

    def with_settings(self, values: Mapping[str, Setting]) -> OwnSearch:
        """Return the same with some values changed."""
        return dataclasses.replace(self, values=tuple((dict(self.values) | dict(values)).items()))


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """An algorithm: its name, its configuration, and its default limits.

    Attributes
    ----------
    name, summary
        What it is called, and what it is, in a line.
    configuration
        Makes the search.
    limits
        What ends a run where the user says nothing about it.
    last_resort
        What ends a run that nothing else would end: no limit, and no value to reach.
    source
        "path/to/file.py:NAME" if it comes from a user's file, whose digest is in `digest`.

    Examples
    --------
    >>> import daedal
    >>> daedal.algorithms()["pbil"].configuration.model
    PBIL(learning_rate=0.02, best=1)
    """

    name: str
    configuration: Configuration
    summary: str = ""
    limits: Limits = field(default_factory=Limits)
    last_resort: Limits = field(default_factory=Limits)
    source: str | None = None
    digest: str | None = None

    @property
    def kind(self) -> str:
        """What kind of algorithm this is, apart from its settings; what is in the file that it comes from counts."""
        return self.configuration.kind if self.digest is None else f"{self.configuration.kind} {self.digest}"

    def parameters(self) -> dict[str, Parameter]:
        """List what can be set, with the values in force as defaults."""
        return self.configuration.parameters()

    def settings(self) -> dict[str, Setting]:
        """Return the values in force, by name."""
        return self.configuration.settings()

    def with_settings(self, settings: Mapping[str, Setting], *, keywords: Iterable[str] = ()) -> Algorithm:
        """Return this algorithm with some values changed. Texts, as from a command line, are converted.

        Parameters
        ----------
        settings
            Values by name.
        keywords
            What else the user might have meant by a name that is unknown.

        Examples
        --------
        >>> import daedal
        >>> dae = daedal.algorithms()["dae"]
        >>> dae.with_settings({"corruption": "0.05"}).configuration.model.corruption
        0.05
        """
        try:
            values = coerce(self.name, settings, self.parameters(), keywords=keywords)
        except UnknownSettingError as error:
            raise type(error)(f"{error}{self.configuration.hint}") from None
        if not values:
            return self
        return dataclasses.replace(self, configuration=self.configuration.with_settings(values))

    def with_limits(self, given: Limits, *, has_goal: bool = True) -> Limits:
        """Fill in this algorithm's own limits where the user gave none; there may be a value to reach besides."""
        own = {name: value for name, value in current(self.limits).items() if getattr(given, name) is None}
        limits = dataclasses.replace(given, **own)  # type: ignore[arg-type]
        return self.last_resort if limits == Limits() and not has_goal else limits

    def resolved(self, n: int, *, max_evaluations: int | None = None, workers: int = 1) -> Algorithm:
        """Return this algorithm with defaults for everything that is not set: see `Configuration.resolved`."""
        chosen = self.configuration.resolved(n, max_evaluations=max_evaluations, workers=workers)
        return dataclasses.replace(self, configuration=chosen)


_OF_ROWS = "the mutual information in the population, which the linkage tree is built on"

MOST_LINKED = 2000
"""Maximum number of variables for a matrix of all pairs."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Insight:
    """A search's population, and its view of how variables depend on each other.

    Attributes
    ----------
    rows, fitness
        The population, shape (rows, n), and its values, shape (rows,).
    linkage
        How much pairs of variables depend on each other, shape (n, n); None if the search does not know.
    source
        What linkage is read from, as a phrase for the user: "the weights of the autoencoder".
    curve
        How the error fell in the last training of a network; None without one.
    """

    rows: Bits
    fitness: Fitness
    linkage: NDArray[np.float64] | None = None
    source: str = ""
    curve: TrainingCurve | None = None

    @classmethod
    def of_model(cls, rows: Bits, fitness: Fitness, fitted: Fitted | None) -> Insight:
        """Show a population, and what the model fitted to it says of pairs."""
        if fitted is None:
            return cls(rows=rows, fitness=fitness)
        linkage = fitted.linkage() if rows.shape[1] <= MOST_LINKED else None
        return cls(rows=rows, fitness=fitness, linkage=linkage, source=fitted.linkage_source, curve=fitted.curve())

    @classmethod
    def of_rows(cls, rows: Bits, fitness: Fitness) -> Insight:
        """Show rows, shape (rows, n); how pairs depend on each other there is computed once, at the end."""
        return cls(rows=rows, fitness=fitness, source=_OF_ROWS)


def information(rows: Bits) -> NDArray[np.float64]:
    """Return the mutual information of all pairs of variables, as a share of their joint entropy, shape (n, n).

    It is 0 on the diagonal and where a variable has one value only.
    """
    size, x = len(rows), rows.astype(np.float64)
    both = np.rint(x.T @ x).astype(np.int64)
    ones = np.diag(both)
    counts = np.arange(1, size + 1)
    terms = np.concatenate([[0.0], -counts / size * np.log(counts / size)])
    joint = terms[both] + terms[ones[:, None] - both] + terms[ones - both] + terms[size - ones[:, None] - ones + both]
    single = terms[ones] + terms[size - ones]
    shared: NDArray[np.float64] = (
        np.divide(single[:, None] + single, joint, out=np.ones_like(joint), where=joint > 1e-12) - 1
    )
    np.fill_diagonal(shared, 0.0)
    return shared

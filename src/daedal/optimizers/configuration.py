"""Algorithms: a name, a line of description, and a configuration that builds an optimizer."""

from __future__ import annotations

import dataclasses
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from daedal.limits import Limits
from daedal.optimizers.base import Optimizer
from daedal.settings.checks import check_between, check_whole
from daedal.settings.parameters import (
    REQUIRED,
    Parameter,
    Setting,
    UnknownSettingError,
    check_types,
    coerce,
    current,
    parameters,
)
from daedal.types import Bits

_BUILD = ("n", "seed", "limits", "initial")
"""What every builder of optimizers is told."""

_CONTRACT = ("n", "stop", "best", "evaluations", "prepare", "ask", "tell", "state", "restore")
"""What every optimizer has: see `Optimizer`."""

NARROW = 16
"""Workers up to which batches are as they are, so that the result does not depend on how many there are."""

WIDEST = 100_000
"""Rows of a batch, at most: each is a search of its own, with memory of its own."""


def widened(min_batch: int | None, workers: int) -> int:
    """Give how many rows a batch should have: as given, or for so many workers, where there are many."""
    if min_batch is not None:
        return min_batch
    return workers if workers > NARROW else 1


@dataclass(frozen=True, kw_only=True)
class Configuration(ABC):
    """What an optimizer is built from: a frozen dataclass, whose fields are the settings.

    A field that is itself a dataclass, such as a model, stands for its own fields.
    """

    @abstractmethod
    def build(
        self, *, n: int, seed: int | None = None, limits: Limits | None = None, initial: Bits | None = None
    ) -> Optimizer:
        """Make the optimizer.

        Parameters
        ----------
        n
            Number of variables.
        seed
            Same seed, same run.
        limits
            What ends the run.
        initial
            Rows to begin with, shape (rows, n).
        """

    hint: ClassVar[str] = ""
    """What else to try, said to who gives a setting that is not there."""

    @property
    def kind(self) -> str:
        """What kind of algorithm this is, apart from its settings."""
        return type(self).__name__

    def resolved(self, n: int, *, max_evaluations: int | None = None, workers: int = 1) -> Configuration:
        """Give the configuration with everything chosen, such as a population size, that is not given.

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
        """Say so, in a sentence, if so many evaluations are too few for this configuration, which is resolved."""
        return None

    def generation_seconds(self, n: int) -> float:
        """Give the CPU time, about, of a generation of this configuration, which is resolved; 0: nobody knows."""
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
        """Give the values in force, by name."""
        values: dict[str, Setting] = {}
        for name, value in current(self).items():
            values |= current(value) if dataclasses.is_dataclass(value) else {name: value}
        return values

    def with_settings(self, values: Mapping[str, Setting]) -> Configuration:
        """Give the configuration with some values changed."""
        own: dict[str, Any] = {}
        for name, value in current(self).items():
            if dataclasses.is_dataclass(value) and not isinstance(value, type):
                inner = {key: values[key] for key in current(value) if key in values}
                own[name] = dataclasses.replace(value, **inner) if inner else value
            elif name in values:
                own[name] = values[name]
        return dataclasses.replace(self, **own)


@dataclass(frozen=True, kw_only=True)
class BatchedConfiguration(Configuration):
    """What an optimizer is built from whose batches can be widened.

    Parameters
    ----------
    min_batch
        Rows that a batch should have, about; None: the number of workers, from 17 on.
    """

    min_batch: int | None = None

    def __post_init__(self) -> None:
        check_types(self)
        if self.min_batch is not None:
            check_whole("min_batch", self.min_batch, least=1)
            check_between("min_batch", self.min_batch, 1, WIDEST)

    def resolved(self, n: int, *, max_evaluations: int | None = None, workers: int = 1) -> BatchedConfiguration:
        """Choose how wide batches are, where that is not given."""
        return dataclasses.replace(self, min_batch=widened(self.min_batch, workers))


@dataclass(frozen=True, kw_only=True)
class Builder(Configuration):
    """A user's function or class that makes an optimizer from n, seed, limits and initial.

    Parameters
    ----------
    function
        Called with these four by keyword; its other parameters are the settings.
    values
        Settings that were changed.
    """

    function: Callable[..., Optimizer]
    values: tuple[tuple[str, Setting], ...] = field(default=())

    def __post_init__(self) -> None:
        try:
            known = list(inspect.signature(self.function).parameters.values())
        except ValueError:  # written in C
            known = []
        names = {one.name for one in known if one.kind not in (one.VAR_POSITIONAL, one.POSITIONAL_ONLY)}
        if not any(one.kind is one.VAR_KEYWORD for one in known) and not set(_BUILD) <= names:
            missing = ", ".join(name for name in _BUILD if name not in names)
            raise TypeError(
                f"expected {self.kind} to build an optimizer from {', '.join(_BUILD)}, given by keyword, but it takes "
                f"no {missing}"
            )

    @property
    def kind(self) -> str:
        """The function's own name."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def build(
        self, *, n: int, seed: int | None = None, limits: Limits | None = None, initial: Bits | None = None
    ) -> Optimizer:
        """Call the function; refuse what is no optimizer."""
        made = self.function(n=n, seed=seed, limits=limits, initial=initial, **dict(self.values))
        missing = [name for name in _CONTRACT if not hasattr(made, name)]
        if missing:
            raise TypeError(
                f"expected {self.kind} to give an optimizer, got {type(made).__name__} without {', '.join(missing)}"
            )
        return made

    def parameters(self) -> dict[str, Parameter]:
        """List the function's other parameters, with the values in force as defaults."""
        values = dict(self.values)
        return {
            name: dataclasses.replace(one, default=values.get(name, one.default))
            for name, one in parameters(self.function).items()
            if name not in _BUILD
        }

    def settings(self) -> dict[str, Setting]:
        """Give the values in force, by name."""
        return {name: one.default for name, one in self.parameters().items() if one.default is not REQUIRED}

    def with_settings(self, values: Mapping[str, Setting]) -> Builder:
        """Give the builder with some values changed."""
        return dataclasses.replace(self, values=tuple((dict(self.values) | dict(values)).items()))


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """An algorithm: what it is called, what it is, and when its runs end unless told otherwise.

    Attributes
    ----------
    name, summary
        What it is called, and what it is, in a line.
    configuration
        Builds the optimizer.
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
        """Give the values in force, by name."""
        return self.configuration.settings()

    def with_settings(self, settings: Mapping[str, Setting], *, keywords: Iterable[str] = ()) -> Algorithm:
        """Give this algorithm with some values changed; text, as from a command line, is read.

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
        """Give this algorithm with everything chosen that is not given: see `Configuration.resolved`."""
        chosen = self.configuration.resolved(n, max_evaluations=max_evaluations, workers=workers)
        return dataclasses.replace(self, configuration=chosen)

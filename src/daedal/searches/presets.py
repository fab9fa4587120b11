"""Algorithms by name: daedal's own with their settings and limits, those of installed packages, and those in files."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Literal, TypeAlias

from daedal import models
from daedal.engine import Engine, Search
from daedal.limits import Limits
from daedal.models.base import Model
from daedal.searches.algorithm import NARROW, WIDEST, Algorithm, Configuration, OwnSearch
from daedal.settings.checks import check_between, check_fits, check_whole, machine_bytes
from daedal.settings.parameters import check_types, unknown
from daedal.settings.plugins import (
    entry_point,
    entry_point_names,
    file_digest,
    first_line,
    is_file_spec,
    load,
    register_entry_points,
)

PENALTY_OF_BOA = round(math.log(2), 6)
"""Weight of the complexity term in `boa` and `hboa`: half a natural logarithm for each probability, against entropies
in bits. With a weight of 1 the network is too small too often; with this one, evaluations and success agree with the
paper's table (docs/research.md has the runs)."""

_PAPER = Limits(max_generations=100, patience=20)
_LATER = Limits(max_generations=150, patience=50)

_STUCK = Limits(patience=40)  # generations, which are n evaluations each


@dataclass(frozen=True, kw_only=True)
class EDAConfiguration(Configuration):
    """An estimation of distribution algorithm: a model, selection, replacement and the population size.

    Parameters
    ----------
    model
        What is fitted to the parents.
    selection
        Selection of parents: "tournament" or "truncation".
    replacement
        How candidates replace members: "parents" (parents and candidates are kept) or "rtr" (restricted tournament
        replacement, which keeps different solutions next to each other).
    popsize
        Parents and candidates together. Default: 500 + 40 n, at most 16,000, or less if `max_evaluations` is small.
        "auto": one population after the other, each twice as large as the one before, from 16 on.
    """

    model: Model
    selection: Literal["tournament", "truncation"] = "tournament"
    replacement: Literal["parents", "rtr"] = "parents"
    popsize: int | Literal["auto"] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.model, Model):
            raise TypeError(f"expected a model, such as daedal.models.DAE(), got model={self.model!r}")
        check_types(self)

    @property
    def kind(self) -> str:
        """The model's name; that of a model which is not daedal's own cannot be taken for one that is."""
        model = type(self.model)
        return model.__name__ if model.__module__.startswith("daedal.models.") else f"own {model.__name__}"

    def resolved(self, n: int, *, max_evaluations: int | None = None, workers: int = 1) -> EDAConfiguration:
        """Choose the population size if it is not given."""
        if self.popsize == "auto":
            check_population(LEAST_POPSIZE, n, self.model)
            return self
        return replace(self, popsize=choose_popsize(self.popsize, n, max_evaluations, model=self.model))

    def budget_warning(self, max_evaluations: int) -> str | None:
        """Warn if the evaluations do not suffice for the first population and two more generations."""
        size = LEAST_POPSIZE if self.popsize == "auto" else self.popsize
        if size is None or max_evaluations >= three_generations(size):
            return None
        return (
            f"{max_evaluations:,} evaluations do not pay for three generations with popsize={size:,}, so hardly "
            "anything can be learned; try more evaluations, or a smaller popsize (without one it is chosen to fit)"
        )

    def generation_seconds(self, n: int) -> float:
        """Return the CPU time, about, of fitting the model to half of the population and sampling the other half."""
        size = LEAST_POPSIZE if self.popsize is None or self.popsize == "auto" else self.popsize
        return self.model.working_seconds(size // 2, n)

    def prepare(self, n: int, max_evaluations: int | None) -> None:
        """Compile or load the kernels of model and replacement, unless the run ends with the first population."""
        from daedal.searches.eda import load_replacement

        size = LEAST_POPSIZE if self.popsize is None or self.popsize == "auto" else self.popsize
        if max_evaluations is None or max_evaluations > size:
            self.model.prepare()
            load_replacement(self.replacement)

    def run_limits(self, limits: Limits) -> Limits:
        """Return the limits that are the run's: generations and patience are those of each of several populations."""
        return replace(limits, max_generations=None, patience=None) if self.popsize == "auto" else limits

    def search(self, f: Engine, limits: Limits) -> Search:
        """Return Algorithm 1 with this model, or one population after the other."""
        from daedal.searches.eda import doubled_populations, eda

        rules = {"model": self.model, "selection": self.selection, "replacement": self.replacement}
        if self.popsize == "auto":
            ends = {"max_generations": limits.max_generations, "patience": limits.patience}
            return doubled_populations(f, **rules, **ends)  # type: ignore[arg-type]
        assert self.popsize is not None
        if f.initial is not None and len(f.initial) > self.popsize:
            raise ValueError(
                f"expected at most popsize={self.popsize} initial rows, got {len(f.initial)}; give fewer, or a larger "
                "popsize"
            )
        return eda(f, popsize=self.popsize, initial=f.initial, **rules)  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class WideConfiguration(Configuration):
    """A search whose batches can be widened.

    Parameters
    ----------
    min_batch
        Candidates that should be evaluated at once. Default: the number of workers, if there are more than 16.
    """

    min_batch: int | None = None

    def __post_init__(self) -> None:
        check_types(self)
        if self.min_batch is not None:
            check_whole("min_batch", self.min_batch, least=1)
            check_between("min_batch", self.min_batch, 1, WIDEST)

    def resolved(self, n: int, *, max_evaluations: int | None = None, workers: int = 1) -> WideConfiguration:
        """Choose how wide batches are, if that is not given."""
        if self.min_batch is not None:
            return self
        return replace(self, min_batch=workers if workers > NARROW else 1)

    def widen(self, f: Engine) -> None:
        """Tell the engine how wide batches should be."""
        f.width = max(f.width, self.min_batch or 1)


@dataclass(frozen=True, kw_only=True)
class MixConfiguration(WideConfiguration):
    """A population that climbs and mixes, and a model of the function: see `daedal.searches.mix`.

    Parameters
    ----------
    members
        Members of the first population.
    model
        If True, a sparse Walsh model is fitted on the way.
    min_batch
        Candidates that should be evaluated at once. Default: the number of workers, if there are more than 16.
    """

    members: int = 14
    model: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("members", self.members, least=2)

    def search(self, f: Engine, limits: Limits) -> Search:
        """Return the search."""
        from daedal.searches.mix import mix

        check_population(self.members, f.n, name="members")
        self.widen(f)
        return mix(f, members=self.members, model=self.model)


@dataclass(frozen=True, kw_only=True)
class ILSConfiguration(WideConfiguration):
    """Iterated local search: see `daedal.searches.ils`."""

    def search(self, f: Engine, limits: Limits) -> Search:
        """Return the search."""
        from daedal.searches.ils import ils

        self.widen(f)
        return ils(f)


@dataclass(frozen=True, kw_only=True)
class AutoConfiguration(WideConfiguration):
    """The default: picks the search that fits, see `daedal.searches.auto`."""

    hint: ClassVar[str] = '; to set more, name an algorithm, as in algorithm="umda" (--algorithm umda)'

    def search(self, f: Engine, limits: Limits) -> Search:
        """Return the search."""
        from daedal.searches.auto import auto

        self.widen(f)
        return auto(f)

    def noisy_search(self, f: Engine, limits: Limits) -> Search:
        """Return populations of independent bits, which average over noise."""
        from daedal.searches.noisy import univariate_populations

        return univariate_populations(f)


def _eda(model: Model, limits: Limits = _PAPER, **rules: Any) -> tuple[Configuration, Limits]:
    return EDAConfiguration(model=model, **rules), limits


_MADE: dict[str, tuple[str, Callable[[], tuple[Configuration, Limits]]]] = {
    "auto": ("The search that fits: mix, ils for few evaluations, a population for noise", lambda: _own("auto")),
    "mix": ("Climbing, linkage-guided mixing, and a sparse model of the function", lambda: _own("mix")),
    "ils": ("Iterated local search, for few evaluations: climbs, kicks, restarts, exchanges", lambda: _own("ils")),
    "dae": ("Denoising autoencoder, trained in few large steps", lambda: _eda(models.DAE(), _LATER)),
    "dae-2015": ("Denoising autoencoder as in the paper", lambda: _eda(models.DAE.paper_2015())),
    "dae-search": (
        "Denoising autoencoder that improves selected rows, after Churchill et al.",
        lambda: _eda(models.DAESearch(), _LATER, replacement="rtr"),
    ),
    "rbm": ("Restricted Boltzmann machine, the paper's RBM-EDA", lambda: _eda(models.RBM())),
    "boa": ("Bayesian network, the paper's BOA", lambda: _eda(models.BayesNet(penalty=PENALTY_OF_BOA))),
    "hboa": (
        "Bayesian network with niching: restricted tournament replacement",
        lambda: _eda(models.BayesNet(penalty=PENALTY_OF_BOA), replacement="rtr"),
    ),
    "ecga": ("Groups of dependent variables, independent of each other", lambda: _eda(models.ECGA())),
    "tree": ("Dependence tree: each variable depends on one other", lambda: _eda(models.Tree())),
    "pbil": (
        "Population-based incremental learning: independent bits that follow the best",
        lambda: _eda(models.PBIL(), Limits(max_generations=2000, patience=400)),
    ),
    "umda": ("Univariate marginals: independent bits", lambda: _eda(models.UMDA())),
}
"""The summary of each algorithm, and what makes its configuration and its limits: models load when they are used."""


def _own(name: str) -> tuple[Configuration, Limits]:
    """Return the configuration of a search of daedal's own; it has a limit only as a last resort."""
    own = {"auto": AutoConfiguration, "mix": MixConfiguration, "ils": ILSConfiguration}
    return own[name](), Limits()


PRESETS = tuple(_MADE)
"""The names of daedal's own algorithms."""


@cache
def preset(name: str) -> Algorithm:
    """Return one of daedal's own algorithms."""
    summary, make = _MADE[name]
    configuration, limits = make()
    last_resort = Limits() if isinstance(configuration, EDAConfiguration) else _STUCK
    return Algorithm(name=name, summary=summary, configuration=configuration, limits=limits, last_resort=last_resort)


# ------------------------------------------------------------ algorithms by name

ENTRY_POINTS = "daedal.algorithms"
"""The group of entry points under which installed packages register algorithms."""

AnyAlgorithm: TypeAlias = "str | Algorithm | Configuration | Model | Callable[..., Search]"
"""What stands for an algorithm: a name, one of its values, or an async function, `async def climber(f, *, n, rng)`."""

_registered: dict[str, Algorithm] = {}  # those of daedal itself are added when they are asked for


def register_algorithm(algorithm: Algorithm) -> None:
    """Register an algorithm, so that the library, the command line and the contract tests know its name."""
    _registered[algorithm.name] = algorithm


def algorithms() -> dict[str, Algorithm]:
    """Return all algorithms by name, including those of installed packages. Warn of a broken one."""
    register_entry_points(ENTRY_POINTS, _is_known)
    own = {name: _registered.get(name) or preset(name) for name in PRESETS}
    return own | _registered


def find_algorithm(given: AnyAlgorithm) -> Algorithm:
    """Return the algorithm that a value stands for.

    Parameters
    ----------
    given
        A name ("dae"); "path/to/file.py:NAME"; an `Algorithm`; a configuration; a model, which gets the EDA's loop with
        the rules and limits of its kind, or of `dae`; or an async function, `async def climber(f, *, n, rng)`.

    Examples
    --------
    >>> find_algorithm("umda").name
    'umda'
    """
    if isinstance(given, str):
        return _named(given)
    if isinstance(given, Algorithm):
        return given
    if inspect.isclass(given) and issubclass(given, Model | Configuration):
        given = given()
    if isinstance(given, Model):
        return _of_model(given)
    if isinstance(given, Configuration):
        return Algorithm(name=given.kind, configuration=given)
    if inspect.iscoroutinefunction(given):
        own = OwnSearch(function=given)
        return Algorithm(name=own.kind, summary=first_line(given), configuration=own)
    raise TypeError(
        "expected an algorithm: a name such as 'dae', a configuration, a model, or an async function such as "
        f"`async def climber(f, *, n, rng)`, got algorithm={given!r}"
    )


def restored_algorithm(name: str, kind: str) -> Algorithm:
    """Return the algorithm that a run file names: never by a path, since that would run code; or else by its model."""
    if _is_known(name):
        return _registered[name]
    for own in map(preset, PRESETS):
        if own.kind == kind:
            return replace(own, name=name, summary="")
    raise ValueError(f"give the algorithm again, algorithm=... (--algorithm): {name!r} is not one of daedal's own")


def _named(name: str) -> Algorithm:
    if is_file_spec(name):
        found = find_algorithm(load(name))
        return replace(found, name=name.rpartition(":")[2], source=name, digest=file_digest(name.rpartition(":")[0]))
    if not _is_known(name):
        raise ValueError(unknown("algorithm", name, {*PRESETS, *_registered, *entry_point_names(ENTRY_POINTS)}))
    return _registered[name]


def _is_known(name: str) -> bool:
    """Whether there is such an algorithm; one of an installed package is loaded now."""
    if name in PRESETS and name not in _registered:
        register_algorithm(preset(name))
    elif name not in _registered and name in entry_point_names(ENTRY_POINTS):
        register_algorithm(replace(entry_point(ENTRY_POINTS, name, find_algorithm), name=name))
    return name in _registered


def _of_model(model: Model) -> Algorithm:
    kind = EDAConfiguration(model=model).kind
    like = [own for own in map(preset, PRESETS) if own.kind == kind] or [preset("dae")]
    rules = like[0].configuration
    assert isinstance(rules, EDAConfiguration)
    return replace(like[0], name=type(model).__name__, summary="", configuration=replace(rules, model=model))


# ------------------------------------------------------------ population sizes

LEAST_POPSIZE = 4
"""The smallest one that is ever chosen: two parents, two candidates."""

_MANY = 10**9
"""Evaluations, and variables, beyond which no population changes."""

_MOST_ENTRIES = 10**8
"""Bits of the largest population that is chosen: half a gigabyte, all copies together. A fixed number, because the same
seed is to give the same result on every machine."""

_BYTES_AN_ENTRY = 6
"""Memory for each bit of a population, without the model's: population, parents, candidates and what is on its way."""

_BYTES_A_ROW = 80
"""Memory for each row, however short: fitness, its hash, and where it stands in several orders."""


def default_popsize(n: int, max_evaluations: int | None = None, *, slowness: float = 1.0) -> int:
    """Return a population size that usually solves deceptive problems, or a smaller one for few evaluations.

    A population converges in a number of generations that grows with the square root of n, and slowly with its own
    size. One that fits the evaluations has just converged when they end: see docs/research.md. A model of some
    slowness needs that many times as many generations.

    Examples
    --------
    >>> default_popsize(60), default_popsize(60, 3_000)
    (2900, 171)
    """
    size = min(500 + 40 * n, 16_000, max(LEAST_POPSIZE, _MOST_ENTRIES // n))
    if max_evaluations is None:
        return size
    most = min(max_evaluations, _MANY)
    fitting = 4.8 * math.pow(most / math.sqrt(min(n, _MANY)), 0.6) / slowness
    return min(size, max(LEAST_POPSIZE, round(min(fitting, most / 3))))


def choose_popsize(
    popsize: int | None, n: int, max_evaluations: int | None = None, *, model: Model | None = None
) -> int:
    """Return popsize, or its default. Raise an error if the population does not fit into memory."""
    default = default_popsize(n, max_evaluations, slowness=1.0 if model is None else model.slowness)
    if popsize is None:
        popsize = default
    popsize = check_whole("popsize", popsize, least=2, hint=f"the default for n={n} is {default}")
    check_population(popsize, n, model)
    return popsize


def check_population(popsize: int, n: int, model: Model | None = None, *, name: str = "popsize") -> None:
    """Refuse a population, or what is fitted to half of it, that does not fit into memory; `name` is the setting's."""
    own = 0
    if model is not None:
        model.check_memory(1, n)  # where even one row is too much, no popsize helps
        own = model.working_bytes(popsize // 2, n)
    what = f"a population of {name}={popsize} with n={n}"
    check_fits(_bytes(popsize, n) + own, what, advice=f"lower {name}")


def fits_memory(popsize: int, n: int) -> bool:
    """Whether a population fits into the memory of this machine, with room for a model."""
    return 2 * _bytes(popsize, n) <= machine_bytes()


def _bytes(popsize: int, n: int) -> int:
    return popsize * (n * _BYTES_AN_ENTRY + _BYTES_A_ROW)


def three_generations(popsize: int) -> int:
    """Return the evaluations of a first population and of two more generations."""
    return popsize + 2 * (popsize - popsize // 2)

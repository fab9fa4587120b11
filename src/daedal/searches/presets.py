"""daedal's own algorithms: each search with its settings, and the limits that go with it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Literal

from daedal import models
from daedal.engine import Engine, Search
from daedal.limits import Limits
from daedal.models.base import Model
from daedal.searches.algorithm import NARROW, WIDEST, Algorithm, Configuration
from daedal.searches.popsize import LEAST_POPSIZE, check_population, choose_popsize, three_generations
from daedal.settings.checks import check_between, check_whole
from daedal.settings.parameters import check_types

PENALTY_OF_BOA = round(math.log(2), 6)
"""Weight of the complexity term in `boa` and `hboa`: half a natural logarithm for each probability, against entropies
in bits. With a weight of 1 the network is too small too often; with this one, evaluations and success agree with the
paper's table (docs/models.md has the runs)."""

_PAPER = Limits(max_generations=100, patience=20)
_LATER = Limits(max_generations=150, patience=50)

_STUCK = Limits(patience=40)  # generations, which are n evaluations each


@dataclass(frozen=True, kw_only=True)
class EDAConfiguration(Configuration):
    """An estimation of distribution algorithm: a model, and how the population is treated.

    Parameters
    ----------
    model
        What is fitted to the parents.
    selection
        Which solutions become parents: "tournament" or "truncation".
    replacement
        How candidates enter the population: "parents" (next to the parents) or "rtr" (restricted tournament
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
    "dae-2016": (
        "Denoising autoencoder, the author's later settings",
        lambda: _eda(models.DAE.author_2016(), _LATER),
    ),
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

"""Algorithms by name: a model with the population rules that go with it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from daedal.limits import Limits
from daedal.models import DAE, ECGA, PBIL, RBM, UMDA, BayesNet, Tree
from daedal.models.base import Model
from daedal.optimizers.eda import EDA
from daedal.settings.parameters import Parameter, Setting, check_types, coerce, current, parameters, unknown
from daedal.types import Bits

PENALTY_OF_BOA = round(math.log(2), 6)
"""Weight of the complexity term in `boa` and `hboa`: half a natural logarithm for each probability, against entropies
in bits. With a weight of 1 the network is too small too often; with this one, evaluations and success agree with the
paper's table (docs/models.md has the runs)."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How a population is treated.

    Parameters
    ----------
    selection
        Which solutions become parents: "tournament" or "truncation".
    replacement
        How candidates enter the population: "parents" (beside the parents) or "rtr" (restricted tournament replacement,
        which keeps different solutions side by side).
    """

    selection: Literal["tournament", "truncation"] = "tournament"
    replacement: Literal["parents", "rtr"] = "parents"

    def __post_init__(self) -> None:
        check_types(self)


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """A preset: what is fitted, how the population is treated, and when a run ends unless told otherwise.

    Examples
    --------
    >>> find_algorithm("pbil").model
    PBIL(learning_rate=0.02, best=1)
    """

    name: str
    summary: str
    model: Model
    rules: Rules = Rules()
    max_generations: int = 100
    patience: int = 20

    def parameters(self) -> dict[str, Parameter]:
        """List what can be set, with this preset's values as defaults."""
        settings = self.settings()
        known = parameters(type(self.model)) | parameters(Rules)
        return {name: dataclasses.replace(known[name], default=settings[name]) for name in known}

    def settings(self) -> dict[str, Setting]:
        """Give the values in force, by name."""
        return current(self.model) | current(self.rules)

    def with_settings(self, settings: Mapping[str, Setting]) -> Algorithm:
        """Give this preset with some values changed; an unknown name lists the known ones.

        Examples
        --------
        >>> find_algorithm("dae").with_settings({"corruption": "0.05"}).model.corruption
        0.05
        """
        values = coerce(self.name, settings, self.parameters())
        rules = {name: value for name, value in values.items() if name in parameters(Rules)}
        hyper = {name: value for name, value in values.items() if name not in rules}
        return dataclasses.replace(
            self,
            model=dataclasses.replace(self.model, **hyper),
            rules=dataclasses.replace(self.rules, **rules),  # type: ignore[arg-type]
        )

    def limits(self, given: Limits) -> Limits:
        """Fill in this preset's generations and patience where the user gave none."""
        return dataclasses.replace(
            given,
            max_generations=self.max_generations if given.max_generations is None else given.max_generations,
            patience=self.patience if given.patience is None else given.patience,
        )

    def optimizer(
        self, *, n: int, popsize: int | None, seed: int | None, limits: Limits, initial: Bits | None = None
    ) -> EDA:
        """Make the optimizer."""
        return EDA(
            n=n,
            model=self.model,
            popsize=popsize,
            seed=seed,
            limits=limits,
            selection=self.rules.selection,
            replacement=self.rules.replacement,
            initial=initial,
        )


_ALGORITHMS: dict[str, Algorithm] = {}


def register_algorithm(algorithm: Algorithm) -> None:
    """Make an algorithm known by its name, to the library, the command line and the contract tests."""
    _ALGORITHMS[algorithm.name] = algorithm


def algorithms() -> dict[str, Algorithm]:
    """Give all algorithms by name."""
    return dict(_ALGORITHMS)


def find_algorithm(name: str | Algorithm | Model) -> Algorithm:
    """Give the algorithm of a name; a model stands for itself, with the rules and limits of its kind, or of `dae`.

    Examples
    --------
    >>> find_algorithm("umda").name
    'umda'
    """
    if isinstance(name, Algorithm):
        return name
    if isinstance(name, Model):
        like = [preset for preset in _ALGORITHMS.values() if type(preset.model) is type(name)] or [_ALGORITHMS["dae"]]
        return dataclasses.replace(like[0], name=type(name).__name__, summary="", model=name)
    if not isinstance(name, str):
        raise TypeError(f"expected the name of an algorithm, or a model, such as 'dae', got algorithm={name!r}")
    if name not in _ALGORITHMS:
        raise ValueError(unknown("algorithm", name, _ALGORITHMS))
    return _ALGORITHMS[name]


def restored_algorithm(name: str, model: str, settings: Mapping[str, Any]) -> Algorithm:
    """Give an algorithm again by its name, or else by that of its model, and all its settings.

    Examples
    --------
    >>> restored_algorithm("UMDA", "UMDA", {"selection": "truncation"}).rules.selection
    'truncation'
    """
    if name in _ALGORITHMS:
        return _ALGORITHMS[name].with_settings(settings)
    like = [preset for preset in _ALGORITHMS.values() if type(preset.model).__name__ == model]
    if not like:
        raise ValueError(f"expected algorithm=..., because {name} is not one of daedal's own; give it again")
    return dataclasses.replace(like[0], name=name, summary="").with_settings(settings)


register_algorithm(
    Algorithm(
        name="dae",
        summary="Denoising autoencoder, the author's later settings",
        model=DAE(),
        max_generations=150,
        patience=50,
    )
)
register_algorithm(Algorithm(name="dae-2015", summary="Denoising autoencoder as in the paper", model=DAE.paper_2015()))
register_algorithm(Algorithm(name="rbm", summary="Restricted Boltzmann machine, the paper's RBM-EDA", model=RBM()))
register_algorithm(
    Algorithm(name="boa", summary="Bayesian network, the paper's BOA", model=BayesNet(penalty=PENALTY_OF_BOA))
)
register_algorithm(
    Algorithm(
        name="hboa",
        summary="Bayesian network with niching: restricted tournament replacement",
        model=BayesNet(penalty=PENALTY_OF_BOA),
        rules=Rules(replacement="rtr"),
    )
)
register_algorithm(
    Algorithm(name="ecga", summary="Groups of dependent variables, independent of each other", model=ECGA())
)
register_algorithm(Algorithm(name="tree", summary="Dependence tree: each variable depends on one other", model=Tree()))
register_algorithm(
    Algorithm(
        name="pbil",
        summary="Population-based incremental learning: independent bits that follow the best",
        model=PBIL(),
        max_generations=2000,
        patience=400,
    )
)
register_algorithm(Algorithm(name="umda", summary="Univariate marginals: independent bits", model=UMDA()))

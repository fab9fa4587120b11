"""daedal's own algorithms: a model with the population rules that go with it."""

from __future__ import annotations

import math
from typing import Any

from daedal.limits import Limits
from daedal.models import DAE, ECGA, PBIL, RBM, UMDA, BayesNet, DAESearch, Tree
from daedal.models.base import Model
from daedal.optimizers.auto_configuration import AutoConfiguration
from daedal.optimizers.configuration import Algorithm
from daedal.optimizers.eda import EDAConfiguration
from daedal.optimizers.ils import ILSConfiguration
from daedal.optimizers.mix import MixConfiguration
from daedal.optimizers.neural_mix import NeuralMixConfiguration

PENALTY_OF_BOA = round(math.log(2), 6)
"""Weight of the complexity term in `boa` and `hboa`: half a natural logarithm for each probability, against entropies
in bits. With a weight of 1 the network is too small too often; with this one, evaluations and success agree with the
paper's table (docs/models.md has the runs)."""

_PAPER = Limits(max_generations=100, patience=20)
_LATER = Limits(max_generations=150, patience=50)

_STUCK = Limits(patience=40)  # generations, which are n calls each


def _eda(name: str, summary: str, model: Model, limits: Limits = _PAPER, **rules: Any) -> Algorithm:
    return Algorithm(name=name, summary=summary, configuration=EDAConfiguration(model=model, **rules), limits=limits)


PRESETS = (
    Algorithm(
        name="auto",
        summary="What fits: mix, ils where calls are few, a population where values scatter",
        configuration=AutoConfiguration(),
        last_resort=_STUCK,
    ),
    Algorithm(
        name="mix",
        summary="Climbing, linkage-guided mixing, and a sparse model of the function",
        configuration=MixConfiguration(),
        last_resort=_STUCK,
    ),
    Algorithm(
        name="ils",
        summary="Iterated local search, for few calls: climbs, kicks, restarts, exchanges",
        configuration=ILSConfiguration(),
        last_resort=_STUCK,
    ),
    Algorithm(
        name="neural-mix",
        summary="As mix, with donors also from an autoencoder and the model, by success",
        configuration=NeuralMixConfiguration(),
        last_resort=_STUCK,
    ),
    _eda("dae", "Denoising autoencoder, trained in few large steps", DAE(), _LATER),
    _eda("dae-2016", "Denoising autoencoder, the author's later settings", DAE.author_2016(), _LATER),
    _eda("dae-2015", "Denoising autoencoder as in the paper", DAE.paper_2015()),
    _eda(
        "dae-search",
        "Denoising autoencoder that improves selected rows, after Churchill et al.",
        DAESearch(),
        _LATER,
        replacement="rtr",
    ),
    _eda("rbm", "Restricted Boltzmann machine, the paper's RBM-EDA", RBM()),
    _eda("boa", "Bayesian network, the paper's BOA", BayesNet(penalty=PENALTY_OF_BOA)),
    _eda(
        "hboa",
        "Bayesian network with niching: restricted tournament replacement",
        BayesNet(penalty=PENALTY_OF_BOA),
        replacement="rtr",
    ),
    _eda("ecga", "Groups of dependent variables, independent of each other", ECGA()),
    _eda("tree", "Dependence tree: each variable depends on one other", Tree()),
    _eda(
        "pbil",
        "Population-based incremental learning: independent bits that follow the best",
        PBIL(),
        Limits(max_generations=2000, patience=400),
    ),
    _eda("umda", "Univariate marginals: independent bits", UMDA()),
)

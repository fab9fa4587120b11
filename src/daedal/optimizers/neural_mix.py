"""`neural-mix`: mixing whose donors come from a population, an autoencoder and a model of the function, by success."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np

from daedal.limits import Limits
from daedal.models.dae import DAE
from daedal.optimizers.donor_population import DonorPopulation
from daedal.optimizers.mix import MEMBERS, Mix, MixConfiguration
from daedal.optimizers.records import Info
from daedal.optimizers.surrogate import LEAST_R2
from daedal.settings.checks import check_between, check_one_of
from daedal.types import Bits, Fitness

DONORS = ("all", "network", "walsh")
STEPS = 5
NETWORK = replace(DAE.author_2016(), corruption=0.1)
"""How the network is trained."""


class NeuralMix(Mix):
    """Climb and mix as `Mix` does, with donors of three sources.

    What a group of linked variables should be is said by a member of the population, as in `Mix`; by a denoising
    autoencoder, trained on the best rows so far, which draws the group given the other variables of the row; or by the
    sparse Walsh model, a local maximum of which within the group is taken. Which of them is asked is drawn for each
    group: the more often rows of a source were better of late, the more often.

    Parameters
    ----------
    n
        Number of variables.
    seed
        Same seed, same run; None: a fresh one, to be read from `seed`.
    limits
        What ends the run.
    initial
        Rows to begin with, shape (rows, n): the first climbs begin there.
    members, model, min_batch
        As of `Mix`.
    donors
        Sources beside the population: "network", "walsh", or "all".
    steps
        Rounds of corruption and reconstruction in which the network draws a group.

    Examples
    --------
    >>> import daedal
    >>> daedal.maximize("trap:k=5,n=50", algorithm="neural-mix", seed=1).success
    True
    """

    population: DonorPopulation

    def __init__(
        self,
        *,
        n: int,
        seed: int | None = None,
        limits: Limits | None = None,
        initial: Bits | None = None,
        members: int = MEMBERS,
        model: bool = True,
        min_batch: int = 1,
        donors: str = "all",
        steps: int = STEPS,
    ) -> None:
        check_one_of("donors", donors, DONORS)
        check_between("steps", steps, 1, 1000)
        self._sources, self._steps = donors, steps
        super().__init__(
            n=n, seed=seed, limits=limits, initial=initial, members=members, model=model, min_batch=min_batch
        )

    def _new_population(self, **how: Any) -> DonorPopulation:
        network = None if self._sources == "walsh" else NETWORK
        return DonorPopulation(network=network, steps=self._steps, seed=self.seed, **how)

    def learn(self, rows: Bits, fitness: Fitness) -> Info | None:
        """Let climbs and mixings go on, with the model as it is now as a source of donors."""
        if self._sources != "network" and self.surrogate is not None:
            self.population.function = self.surrogate.function if self.surrogate.r2 >= LEAST_R2 else None
        return super().learn(rows, fitness)

    def prepare(self) -> None:
        """Compile or load the kernels, those of the network included."""
        super().prepare()
        if self.population.network is not None:
            self.population.network.prepare()
        _load_kernels()

    def _info(self) -> Info:
        _, network, walsh = self.population.shares().tolist()
        own = {"network": network, "walsh": walsh}
        info = super()._info()
        return {"members": info["members"], **own, **info}  # what there always is comes first


@cache
def _load_kernels() -> None:
    """Use all kernels of the search in a small run, once."""
    small = NeuralMix(n=4, seed=0, limits=Limits(), model=False)
    while small.stop is None:
        small.tell(np.asarray(small.ask().sum(axis=1) % 3, dtype=np.float64))


@dataclass(frozen=True, kw_only=True)
class NeuralMixConfiguration(MixConfiguration):
    """What `neural-mix` is built from; see `NeuralMix`.

    Parameters
    ----------
    donors
        Where donors come from beside the population: "network", "walsh" (the sparse model), or "all".
    steps
        Rounds of corruption and reconstruction in which the network draws a group of variables.
    """

    optimizer: ClassVar[type[Mix]] = NeuralMix

    donors: Literal["all", "network", "walsh"] = "all"
    steps: int = STEPS

    def __post_init__(self) -> None:
        super().__post_init__()
        check_between("steps", self.steps, 1, 1000)

    def _own(self) -> dict[str, Any]:
        return {"donors": self.donors, "steps": self.steps}

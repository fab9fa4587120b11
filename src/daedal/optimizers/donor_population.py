"""A population that mixes with donors of several sources: the search of `neural-mix`, batch by batch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.models.dae import DAE, FittedDAE
from daedal.models.network_samples import workspaces
from daedal.models.walsh_function import WalshFunction
from daedal.optimizers.population import Population
from daedal.optimizers.row_memory import unpack
from daedal.rng import Stream, stream
from daedal.types import Bits, State, StateError

MOST_VARIABLES = 256
"""Variables up to which there is a network: its weights grow with their square, and so does the time of a draw."""

TRAINED = 64
"""Rows that the network is trained on, where there are so many: the best of all."""


LEVEL = 0.5
"""Share of the population that a row has to be better than to count as a success: to bring bad rows up to where others
are is what every source can, and costs variety."""


class DonorPopulation(Population):
    """Climbs and mixings, where a network and a model of the function may say what a group of variables should be.

    Parameters
    ----------
    network
        How the network is trained, at the begin of each generation of mixing; None: there is none.
    steps
        Rounds of corruption and reconstruction of its draws.
    seed
        Of the run.
    how
        What a `Population` takes.

    Attributes
    ----------
    function
        The model of the function, if donors may come from it.
    """

    def __init__(self, *, network: DAE | None, steps: int, seed: int, **how: Any) -> None:
        super().__init__(**how)
        self.network = network if self.n <= MOST_VARIABLES else None
        self.steps = steps
        self.seed = seed
        self.function: WalshFunction | None = None
        self._credit = np.zeros((2, kernels.donors.COUNT))  # rows that were tried, and those that were better
        self._asked = np.full_like(self._jobs.asked, -1)
        self._fits = 0
        self._seen = 0  # rows that were known when the network was trained
        self._fitted: FittedDAE | None = None
        self._taken: WalshFunction | None = None  # the function that the sources have

    def shares(self) -> NDArray[np.float64]:
        """Give how often a group comes from the population, the network and the function, shape (3,)."""
        shares = np.zeros(kernels.donors.COUNT)
        kernels.donors.set_shares(self._usable(), self._credit[0], self._credit[1], shares)
        return shares

    def _usable(self) -> NDArray[np.bool_]:
        return np.array([True, self.network is not None and self._fits > 0, self.function is not None])

    def _start_mixing(self) -> None:
        super()._start_mixing()
        self._fits += 1
        self._seen = self.memory.known
        self._fitted = self._sources = None

    def _advance(self) -> None:
        if self._generation > 0:
            self._gather_sources()
        super()._advance()

    def _gather_sources(self) -> None:
        """Train the network, if that has not been done in this generation, and take what there is of the function."""
        if self._fitted is None and self.network is not None:
            rng = stream(self.seed, Stream.SAMPLE, self._fits)
            self._fitted = self.network.fit(self._training_rows() ^ self._flips(), rng=rng)
        if self._sources is None or self._taken is not self.function:
            self._taken = self.function
            self._sources = kernels.donors.Sources(
                network=_network(self._fitted, self.steps, self._flips()),
                function=_function(self.function, self.n),
                usable=self._usable(),
                level=float(np.sort(self._before)[int(LEVEL * (len(self._before) - 1))]),
                tried=self._credit[0],
                better=self._credit[1],
                asked=self._asked,
            )

    def _training_rows(self) -> Bits:
        """Give the best rows that were known when the generation began."""
        values = self.memory.table.values[: self._seen]
        best = np.argsort(-values, kind="stable")[: max(TRAINED, len(self._donors))]
        return unpack(self.memory.table.keys[best], self.n)

    def _flips(self) -> Bits:
        return stream(self.seed, Stream.MASK).integers(0, 2, self.n, dtype=np.uint8)

    def state(self) -> State:
        """Give what is needed to go on from here; the network is trained anew, on the same rows."""
        arrays: dict[str, NDArray[Any]] = {"credit": self._credit.copy(), "asked": self._asked.copy()}
        own = State(arrays=arrays, fields={"fits": self._fits, "seen": self._seen})
        return State.join({"search": super().state(), "donors": own})

    def restore(self, state: State) -> None:
        """Go on where another one, made alike, stood."""
        super().restore(state.part("search"))
        own = state.part("donors")
        credit = own.array("credit")
        self._fits, self._seen = own.whole("fits"), own.whole("seen")
        fits = credit.shape == self._credit.shape and credit.dtype == self._credit.dtype
        if not fits or not np.isfinite(credit).all() or credit.min() < 0:
            raise StateError("expected how often each source of donors was tried, and was better, got something else")
        if not (1 if self._generation else 0) <= self._seen <= self.memory.known:
            raise StateError(f"expected a network trained on known rows, got {self._seen} of {self.memory.known}")
        self._credit = credit.copy()
        self._asked = own.wholes("asked", shape=self._asked.shape, least=-1, most=kernels.donors.COUNT - 1).copy()
        self._fitted = self._sources = None


def _network(fitted: FittedDAE | None, steps: int, flips: Bits) -> kernels.donors.Network:
    """Give the network as kernels take it; one of zeros where there is none, which is never asked."""
    n = len(flips)
    words = -(-(steps * n + kernels.tiles.LANES) // 4) * 4
    return kernels.donors.Network(
        stack=(kernels.dae.zero_parameters(1, 1, tied=True),) if fitted is None else fitted.stack,
        widths=(n, 1) if fitted is None else fitted.widths,
        works=workspaces((1, 1) if fitted is None else fitted.widths, 1, 0.0 if fitted is None else fitted.corruption),
        shape=kernels.noise.noise_shape() if fitted is None else fitted.noise_shape(),
        steps=steps,
        flips=flips,
        start=np.zeros((1, n), np.uint8),
        clamped=np.zeros((1, n), np.uint8),
        noise=np.zeros(words, np.uint16),
        draws=np.zeros(n + n % 2, np.uint32),
        out=np.zeros((1, n), np.uint8),
    )


def _function(function: WalshFunction | None, n: int) -> kernels.donors.Function:
    """Give the function as kernels take it; one without terms where there is none, which is never asked."""
    sets, orders, coefficients = np.zeros((0, 1), np.int64), np.zeros(0, np.int64), np.zeros(0)
    starts, members = np.zeros(n + 1, np.int64), np.zeros(0, np.int64)
    if function is not None:
        sets, orders, coefficients = function.terms.members, function.terms.orders, function.coefficients
        starts, members = function.variable_sets
    return kernels.donors.Function(
        sets, orders, coefficients, starts, members, np.zeros(len(orders)), np.zeros(n), np.zeros(n, np.uint8)
    )

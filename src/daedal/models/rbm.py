"""The restricted Boltzmann machine as a model of the parents: the paper's RBM-EDA."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.models.base import Fitted, Model, check_converged, check_parents
from daedal.models.epochs import checked_epochs
from daedal.models.rbm_schedule import Schedule, Thresholds
from daedal.rng import words16, words32
from daedal.settings.checks import check_at_least, check_between, check_fits
from daedal.types import Bits

_WEIGHT_COPIES = 4  # weights, their transpose, velocity, scratch
_SAMPLED_AT_A_TIME = 64
_MEAN_WITHIN = (0.005, 0.995)  # the first visible bias is the logit of the mean, clipped so that no bit is ever certain
_FEW_ROWS = 800  # fewer rows than this make four batches


@dataclass(frozen=True, kw_only=True)
class FittedRBM(Fitted):
    """A trained Boltzmann machine.

    Attributes
    ----------
    theta
        Its parameters, padded as `kernels.products` says, with a mean of zero.
    parents
        The rows it was trained on, shape (rows, padded n): where the Gibbs chains start.
    n, m
        Visible and hidden units.
    gibbs_steps
        As in `RBM`.
    """

    theta: kernels.rbm.Parameters
    parents: Bits
    n: int
    m: int
    gibbs_steps: int

    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        """Draw rows, shape (rows, n): Gibbs chains that start at the parents, equally many (+-1) at each."""
        start = np.resize(rng.permutation(len(self.parents)), rows)
        out = np.empty((rows, self.n), dtype=np.uint8)
        work = kernels.rbm.make_workspace(self.n, self.m, _SAMPLED_AT_A_TIME)
        with kernels.threads.one_blas_thread():
            for first in range(0, rows, _SAMPLED_AT_A_TIME):
                order = start[first : first + _SAMPLED_AT_A_TIME]
                count = self.gibbs_steps * order.size * (self.n + self.m)
                words = words16(rng, count + kernels.tiles.LANES)
                block = out[first : first + _SAMPLED_AT_A_TIME]
                kernels.rbm.sample(
                    self.parents, order, words, self.gibbs_steps, self.n, self.m, self.theta, work, block
                )
        return out


@dataclass(frozen=True, kw_only=True)
class RBM(Model):
    """Restricted Boltzmann machine, trained by contrastive divergence.

    The defaults are the settings of the paper's RBM-EDA. Momentum and learning rate follow s, the smoothed error of
    reconstruction, and r, the share of all its gain that the last quarter of training brought (`rbm_schedule`).

    Parameters
    ----------
    hidden
        Hidden units m; None: half as many as variables.
    cd_steps
        Gibbs steps of the contrastive divergence.
    gibbs_steps
        Gibbs steps from a parent to a sample; the paper has 25, and its author's program makes one more.
    learning_rate, bias_factor
        Rate for weights; that of biases is learning_rate * bias_factor.
    momentum, late_momentum
        On weights only, at first and late in training.
    init_scale
        Standard deviation of the first weights.
    batch_size
        Approximate number of rows in a mini-batch; fewer than 800 rows make four batches.
    check_every, max_epochs
        The error is measured every so many epochs; training lasts at most so long.
    smoothing
        Weight of the past in s.
    min_gain
        The next three apply once s has fallen by this share. Below 800 rows, the noise of s alone may exceed the
        default and end training before it has begun; 0.05 is safer there.
    momentum_below, rate_below, stop_below
        When r is below these, the late momentum applies; the learning rate is halved; training ends.
    low_error
        Training also ends when s is below this.
    rise, min_updates, min_epochs
        Training also ends when s is more than this share above its minimum and r is 0, after so many updates and
        epochs.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = np.repeat(rng.integers(0, 2, (200, 2), dtype=np.uint8), 5, axis=1)
    >>> RBM().fit(x, rng=rng).sample(3, rng=rng).shape
    (3, 10)
    """

    compiled: ClassVar[bool] = True

    hidden: int | None = None
    cd_steps: int = 2
    gibbs_steps: int = 26
    learning_rate: float = 0.05
    bias_factor: float = 10.0
    momentum: float = 0.5
    late_momentum: float = 0.8
    init_scale: float = 0.001
    batch_size: int = 64
    check_every: int = 2
    max_epochs: int = 1000
    smoothing: float = 0.6
    min_gain: float = 0.01
    momentum_below: float = 0.1
    rate_below: float = 0.05
    stop_below: float = 0.01
    low_error: float = 0.01
    rise: float = 0.02
    min_updates: int = 2000
    min_epochs: int = 30

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hidden is not None:
            check_at_least("hidden", self.hidden, 1)
        for name in ("cd_steps", "gibbs_steps"):
            check_between(name, getattr(self, name), 1, 10_000)
        for name in ("batch_size", "check_every", "max_epochs"):
            check_at_least(name, getattr(self, name), 1)
        for name in ("momentum", "late_momentum", "smoothing"):
            check_between(name, getattr(self, name), 0.0, 0.999)
        for name in ("min_gain", "momentum_below", "rate_below", "stop_below", "low_error"):
            check_between(name, getattr(self, name), 0.0, 1.0)
        check_between("init_scale", self.init_scale, 0.0, 100.0)
        for name in ("learning_rate", "bias_factor", "rise", "min_updates", "min_epochs"):
            check_at_least(name, getattr(self, name), 0)

    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> FittedRBM:
        """Train from scratch on x, shape (rows, n)."""
        kernels.compilation.announce(kernels.rbm.train)
        rows, n = check_parents(x)
        m = max(n // 2, 1) if self.hidden is None else self.hidden
        width = kernels.products.padded(n)
        weights = 4 * width * kernels.products.padded(m)  # bytes
        check_fits(_WEIGHT_COPIES * weights, f"a Boltzmann machine of n={n} and hidden={m}")
        data = np.zeros((rows, width), dtype=np.uint8)
        data[:, :n] = x
        with kernels.threads.one_blas_thread():
            theta, info = self._train(data, n, m, rng=rng)
        return FittedRBM(info=info, theta=theta, parents=data, n=n, m=m, gibbs_steps=self.gibbs_steps)

    def _train(
        self, data: Bits, n: int, m: int, *, rng: np.random.Generator
    ) -> tuple[kernels.rbm.Parameters, dict[str, float]]:
        """Train until the schedule says stop."""
        rows = len(data)
        batch = self.batch_rows(rows)
        work = kernels.rbm.make_workspace(n, m, batch)
        theta = self._initial(data, n, m, rng=rng)
        schedule = Schedule(self._thresholds())
        order = rng.permutation(rows)
        watched = order[: -(-rows // 4)]  # a view: every epoch shuffles order, so that it is another quarter each time
        epoch = 0
        for epoch in chain([0], self._epochs(data, order, n, m, batch, theta, work, schedule, rng=rng)):
            words = words16(rng, watched.size * (n + m) + kernels.tiles.LANES)
            error = kernels.rbm.reconstruction_error(data, watched, words, n, m, theta, work)
            schedule.add(error, epoch=epoch, updates=epoch * (rows // batch))
            if schedule.stop:
                break
        check_converged(theta.weights, "the Boltzmann machine", self.learning_rate)
        theta.hidden_bias[...] -= theta.mean @ theta.weights
        theta.mean[...] = 0
        return theta, {"epochs": epoch, "error": schedule.smoothed[-1]}

    def batch_rows(self, rows: int) -> int:
        """Give the size of a batch: rows are divided evenly into batches of about batch_size, or into four if few."""
        batches = 4 if rows < _FEW_ROWS else max(round(rows / self.batch_size), 1)
        return max(rows // batches, 1)

    def _thresholds(self) -> Thresholds:
        return Thresholds(**{name: getattr(self, name) for name in Thresholds.__dataclass_fields__})

    def _initial(self, data: Bits, n: int, m: int, *, rng: np.random.Generator) -> kernels.rbm.Parameters:
        """Draw small weights; the visible biases alone already give each bit its frequency."""
        theta = kernels.rbm.zero_parameters(n, m)
        theta.weights[:n, :m] = self.init_scale * rng.standard_normal((n, m))
        theta.weights_t[...] = theta.weights.T
        mean = data[:, :n].mean(axis=0)
        likely = np.clip(mean, *_MEAN_WITHIN)
        theta.visible_bias[:n] = np.log(likely / (1 - likely))
        theta.mean[:n] = mean
        return theta

    def _epochs(
        self,
        data: Bits,
        order: NDArray[np.int64],
        n: int,
        m: int,
        batch: int,
        theta: kernels.rbm.Parameters,
        work: kernels.rbm.Workspace,
        schedule: Schedule,
        *,
        rng: np.random.Generator,
    ) -> Iterator[int]:
        """Train theta in place, with a pause at every epoch at which the error is to be measured."""
        rows = len(data)
        gradient = np.zeros_like(theta.weights)
        words_an_epoch = rows * self.cd_steps * (n + m)

        def train(epochs: int) -> None:
            rate = self.learning_rate * 0.5**schedule.halvings
            momentum = self.late_momentum if schedule.late else self.momentum
            swaps = words32(rng, epochs * rows)
            noise = words16(rng, epochs * words_an_epoch + kernels.tiles.LANES)
            kernels.rbm.train(
                data, order, swaps, noise, epochs, batch, self.cd_steps, n, m, rate, rate * self.bias_factor, momentum,
                theta, gradient, work,
            )  # fmt: skip

        return checked_epochs(
            train, check_every=self.check_every, max_epochs=self.max_epochs, words_an_epoch=words_an_epoch
        )

"""The restricted Boltzmann machine as a model of the parents: the paper's RBM-EDA."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.compilation import announce
from daedal.models.base import PRODUCTS_A_SECOND, Fitted, Model, TrainingCurve, check_converged, check_parents
from daedal.models.training import checked_epochs, curve_of, products_of
from daedal.rng import words16, words32
from daedal.settings.checks import check_at_least, check_between
from daedal.threads import one_blas_thread
from daedal.types import Bits

_WEIGHT_COPIES = 5  # weights, their transpose, velocity, scratch; the first draw is in float64
_SAMPLED_AT_A_TIME = 64
_MEAN_WITHIN = (0.005, 0.995)  # the first visible bias is the logit of the mean, clipped so that no bit is ever certain
_TYPICAL_EPOCHS = 100  # of training: 86 in the paper's reference run, 330 on the first parents of onemax
_FEW_ROWS = 800  # fewer rows than this make four batches


@dataclass(frozen=True, kw_only=True)
class FittedRBM(Fitted):
    """A trained Boltzmann machine of n visible and m hidden units."""

    theta: kernels.rbm.Parameters  # padded as `kernels.products` says, with a mean of zero
    parents: Bits  # (rows, padded n): the rows it was trained on, where the Gibbs chains start
    n: int
    m: int
    gibbs_steps: int
    training: TrainingCurve | None = None

    linkage_source: ClassVar[str] = "the weights of the Boltzmann machine"

    def linkage(self) -> NDArray[np.float64]:
        """Give how much one bit moves the logit of another through hidden units that are half on, shape (n, n)."""
        weights = self.theta.weights[: self.n, : self.m]
        return products_of(weights, weights)

    def curve(self) -> TrainingCurve | None:
        """Give the errors measured in training, smoothed."""
        return self.training

    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        """Draw rows, shape (rows, n): Gibbs chains that start at the parents, equally many (+-1) at each."""
        start = np.resize(rng.permutation(len(self.parents)), rows)
        n, m, steps = self.n, self.m, self.gibbs_steps
        out = np.empty((rows, n), dtype=np.uint8)
        work = kernels.rbm.make_workspace(n, m, _SAMPLED_AT_A_TIME)
        with one_blas_thread():
            for first in range(0, rows, _SAMPLED_AT_A_TIME):
                order = start[first : first + _SAMPLED_AT_A_TIME]
                words = words16(rng, steps * order.size * (n + m) + kernels.tiles.LANES)
                block = out[first : first + _SAMPLED_AT_A_TIME]
                kernels.rbm.sample(self.parents, order, words, steps, n, m, self.theta, work, block)
        return out


@dataclass(frozen=True, kw_only=True)
class RBM(Model):
    """Restricted Boltzmann machine, trained by contrastive divergence.

    The defaults are the settings of the paper's RBM-EDA. Momentum and learning rate follow s, the smoothed error of
    reconstruction, and r, the share of all its gain that the last quarter of training brought (`Schedule`).

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
        announce(kernels.rbm.train)
        rows, n = check_parents(x)
        self.check_memory(rows, n)
        m, width = self._units(n), kernels.products.padded(n)
        data = np.zeros((rows, width), dtype=np.uint8)
        data[:, :n] = x
        with one_blas_thread():
            theta, info, training = self._train(data, n, m, rng=rng)
        steps = self.gibbs_steps
        return FittedRBM(info=info, theta=theta, parents=data, n=n, m=m, gibbs_steps=steps, training=training)

    def _units(self, n: int) -> int:
        return max(n // 2, 1) if self.hidden is None else self.hidden

    def working_bytes(self, rows: int, n: int) -> int:
        """Give the memory, about, that a fit takes: weights, the rows padded, and noise, also that of drawing rows."""
        m = self._units(n)
        weights = 4 * n * m
        noise = 2 * (n + m) * max(self.cd_steps * rows, self.gibbs_steps * min(rows, _SAMPLED_AT_A_TIME))
        return _WEIGHT_COPIES * weights + rows * n + noise

    def working_seconds(self, rows: int, n: int) -> float:
        """Give the CPU time, about: a product of rows and weights for each half step, and two for the gradient."""
        epochs = min(_TYPICAL_EPOCHS, self.max_epochs)
        products = (2 * self.cd_steps + 3) * epochs + 2 * self.gibbs_steps
        return products * rows * n * self._units(n) / PRODUCTS_A_SECOND

    def _train(
        self, data: Bits, n: int, m: int, *, rng: np.random.Generator
    ) -> tuple[kernels.rbm.Parameters, dict[str, float], TrainingCurve]:
        """Train until the schedule says stop."""
        rows, batch = len(data), self.batch_rows(len(data))
        work = kernels.rbm.make_workspace(n, m, batch)
        theta = self._initial(data, n, m, rng=rng)
        gradient, words_an_epoch = np.zeros_like(theta.weights), rows * self.cd_steps * (n + m)
        schedule = Schedule(self)
        order = rng.permutation(rows)
        watched = order[: -(-rows // 4)]  # a view: every epoch shuffles order, so that it is another quarter each time

        def train(epochs: int) -> None:
            rate = self.learning_rate * 0.5**schedule.halvings
            momentum = self.late_momentum if schedule.late else self.momentum
            swaps = words32(rng, epochs * rows)
            noise = words16(rng, epochs * words_an_epoch + kernels.tiles.LANES)
            kernels.rbm.train(
                data, order, swaps, noise, epochs, batch, self.cd_steps, n, m, rate, rate * self.bias_factor, momentum,
                theta, gradient, work,
            )  # fmt: skip

        most = self.max_epochs
        pauses = checked_epochs(train, check_every=self.check_every, max_epochs=most, words_an_epoch=words_an_epoch)
        for epoch in chain([0], pauses):
            words = words16(rng, watched.size * (n + m) + kernels.tiles.LANES)
            error = kernels.rbm.reconstruction_error(data, watched, words, n, m, theta, work)
            schedule.add(error, epoch=epoch, updates=epoch * (rows // batch))
            if schedule.stop:
                break
        check_converged(theta.weights, "the Boltzmann machine", self.learning_rate)
        theta.hidden_bias[...] -= theta.mean @ theta.weights
        theta.mean[...] = 0
        training = curve_of(schedule.smoothed, every=self.check_every, last=epoch, first=0)
        return theta, {"epochs": epoch, "error": schedule.smoothed[-1]}, training

    def batch_rows(self, rows: int) -> int:
        """Give the size of a batch: rows are divided evenly into batches of about batch_size, or into four if few."""
        batches = 4 if rows < _FEW_ROWS else max(round(rows / self.batch_size), 1)
        return max(rows // batches, 1)

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


@dataclass
class Schedule:
    """How training slows down and ends: the smoothed errors so far, and what they say.

    Where the description of the authors' program leaves a point open, this is the reading that came nearest to its
    reference run (trap k=4, n=20, P=2000: 12,000 evaluations and 86 epochs a generation; here about as many and 100):
    the first error is measured before training, so that the total gain is all that training has brought; a quarter of
    the measurements is rounded down to whole ones, and r is not used before there is one; the late momentum applies
    while r is low; the learning rate is halved again at every measurement with a low r. Each error is that of another
    random quarter of the rows, with reconstructed bits drawn: their probabilities, which are less noisy, lead to 300
    epochs and to fewer evaluations than the reference has.
    """

    model: RBM  # has the thresholds
    smoothed: list[float] = field(default_factory=list)  # s after each measurement
    late: bool = False  # whether the late momentum applies
    halvings: int = 0  # of the learning rate
    stop: bool = False

    def add(self, error: float, *, epoch: int, updates: int) -> None:
        """Add one measurement, made after so many epochs and updates."""
        t = self.model
        last = self.smoothed[-1] if self.smoothed else error
        level = t.smoothing * last + (1 - t.smoothing) * error
        self.smoothed.append(level)
        r = self.late_gain()
        if self.smoothed[0] - level > t.min_gain * self.smoothed[0]:
            self.late = r < t.momentum_below
            self.halvings += r < t.rate_below
            self.stop = self.stop or r < t.stop_below
        worse = r == 0 and level > (1 + t.rise) * min(self.smoothed)
        if level < t.low_error or (worse and updates >= t.min_updates and epoch >= t.min_epochs):
            self.stop = True

    def late_gain(self) -> float:
        """Give r, within 0..1: 0 without any gain, and 1 as long as a quarter is less than one measurement."""
        steps = len(self.smoothed) - 1
        quarter = steps // 4
        if quarter == 0:
            return 1.0
        first, end = self.smoothed[0], self.smoothed[-1]
        if first <= end:
            return 0.0
        return min(max((self.smoothed[steps - quarter] - end) / (first - end), 0.0), 1.0)

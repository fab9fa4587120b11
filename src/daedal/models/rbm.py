"""Restricted Boltzmann machine, the model of the paper's RBM-EDA: contrastive divergence and Gibbs steps in NumPy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.models.base import (
    PRODUCTS_A_SECOND,
    Fitted,
    Model,
    TrainingCurve,
    check_converged,
    check_parents,
    linkage_of_weights,
)
from daedal.models.dae import Floats, draw, sigmoid
from daedal.settings.checks import check_at_least, check_between
from daedal.threads import one_blas_thread
from daedal.types import Bits

MEAN_WITHIN = (0.005, 0.995)  # a first visible bias is the logit of a mean that is clipped so that no bit is certain
TYPICAL_EPOCHS = 100  # of training: 86 in the paper's reference run, 330 on the first parents of onemax
FEW_ROWS = 800  # fewer rows than this make four mini-batches
SAMPLED_AT_A_TIME = 512  # rows, so that they stay in the cache


@dataclass(frozen=True, kw_only=True)
class RBM(Model):
    """Restricted Boltzmann machine, trained by contrastive divergence.

    The defaults are the settings of the paper's RBM-EDA. Momentum and learning rate follow s, the smoothed error of
    reconstruction, and r, the share of all its gain that the last quarter of training brought (`Schedule`).

    Parameters
    ----------
    hidden
        Number of hidden units. Default: half the number of variables.
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
        Epochs between two measurements of the error, and maximum number of epochs.
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
        self.check_memory(*check_parents(x))
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):  # training may diverge
            machine, schedule, epochs = train(self, x, rng)
        check_converged(machine.weights, "the Boltzmann machine", self.learning_rate)
        curve = TrainingCurve.every(self.check_every, schedule.smoothed, last=epochs, first=0)
        info = {"epochs": epochs, "error": schedule.smoothed[-1]}
        parents = np.array(x, dtype=np.uint8, order="C")
        return FittedRBM(machine=machine, parents=parents, gibbs_steps=self.gibbs_steps, info=info, training=curve)

    def units(self, n: int) -> int:
        """Return the number of hidden units for n variables."""
        return max(n // 2, 1) if self.hidden is None else self.hidden

    def batch_rows(self, rows: int) -> int:
        """Return the rows of a mini-batch: rows are divided evenly into batches of about batch_size, or into four."""
        batches = 4 if rows < FEW_ROWS else max(round(rows / self.batch_size), 1)
        return max(rows // batches, 1)

    def working_bytes(self, rows: int, n: int) -> int:
        """Return the approximate memory of a fit: weights and their copies, the rows, and those measured or drawn."""
        m = self.units(n)
        return 24 * n * m + 5 * rows * n + 12 * (n + m) * max(rows // 4 + 1, min(rows, SAMPLED_AT_A_TIME))

    def working_seconds(self, rows: int, n: int) -> float:
        """Return the approximate CPU time: a product of rows and weights for a half step, and two for the gradient."""
        epochs = min(TYPICAL_EPOCHS, self.max_epochs)
        products = (2 * self.cd_steps + 3) * epochs + 2 * self.gibbs_steps
        return products * rows * n * self.units(n) / PRODUCTS_A_SECOND


class Machine(NamedTuple):
    """The law p(v, h) ~ exp(b_v v + b_h h + (v - mean) W h) of n visible and m hidden units."""

    weights: Floats  # W, (n, m)
    hidden_bias: Floats  # b_h, (m,)
    visible_bias: Floats  # b_v, (n,)
    mean: Floats  # (n,): by which the visible units are centered in training

    def hidden(self, v: Floats) -> Floats:
        """Return the probabilities of the hidden units, given rows v of centered visible ones."""
        a = v @ self.weights
        a += self.hidden_bias
        return sigmoid(a)

    def draw_hidden(self, v: Floats, rng: np.random.Generator) -> Floats:
        """Draw the hidden units, given rows v of centered visible ones."""
        return draw(self.hidden(v), rng).astype(np.float32)

    def draw_visible(self, h: Floats, rng: np.random.Generator) -> Floats:
        """Draw the centered visible units, given rows h of hidden ones."""
        a = h @ self.weights.T
        a += self.visible_bias
        return draw(sigmoid(a), rng) - self.mean

    def gibbs_step(self, v: Floats, rng: np.random.Generator) -> Floats:
        """Draw hidden units from rows v of centered visible ones, and from them such rows again."""
        return self.draw_visible(self.draw_hidden(v, rng), rng)


@dataclass(frozen=True, kw_only=True)
class FittedRBM(Fitted):
    """A trained Boltzmann machine."""

    machine: Machine  # with a mean of zero
    parents: Bits  # (rows, n): the rows it was trained on, where the Gibbs chains start
    gibbs_steps: int
    training: TrainingCurve | None = None

    linkage_source: ClassVar[str] = "the weights of the Boltzmann machine"

    def linkage(self) -> NDArray[np.float64]:
        """Return by how much one bit moves the logit of another through hidden units that are half on, shape (n, n)."""
        return linkage_of_weights(self.machine.weights)

    def curve(self) -> TrainingCurve | None:
        """Return the errors measured in training, smoothed."""
        return self.training

    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        """Draw rows, shape (rows, n): Gibbs chains that start at the parents, equally many (+-1) at each."""
        start = np.resize(rng.permutation(len(self.parents)), rows)
        out = self.parents[start]
        with one_blas_thread():
            for first in range(0, rows, SAMPLED_AT_A_TIME):
                part = slice(first, first + SAMPLED_AT_A_TIME)
                v = out[part].astype(np.float32)
                for _ in range(self.gibbs_steps):
                    v = self.machine.gibbs_step(v, rng)
                out[part] = v
        return out


def first_machine(model: RBM, x: Bits, rng: np.random.Generator) -> Machine:
    """Draw small weights; the visible biases alone already give each bit its frequency."""
    n, m = x.shape[1], model.units(x.shape[1])
    mean = x.mean(axis=0)
    likely = np.clip(mean, *MEAN_WITHIN)
    arrays = (model.init_scale * rng.standard_normal((n, m)), np.zeros(m), np.log(likely / (1 - likely)), mean)
    return Machine(*(array.astype(np.float32) for array in arrays))


def train(model: RBM, x: Bits, rng: np.random.Generator) -> tuple[Machine, Schedule, int]:
    """Train on rows x, shape (rows, n), until the schedule stops it; return the machine, and the number of epochs.

    The error is the share of bits that one Gibbs step changes, in a quarter of the rows, drawn again each time.
    """
    machine, batch = first_machine(model, x, rng), model.batch_rows(len(x))
    centered = x - machine.mean
    velocity, schedule = np.zeros_like(machine.weights), Schedule(model)
    for epoch in range(model.max_epochs + 1):
        if epoch:
            train_epoch(model, centered[rng.permutation(len(x))], batch, machine, velocity, schedule, rng)
        if epoch % model.check_every and epoch < model.max_epochs:
            continue
        watched = centered[rng.choice(len(x), -(-len(x) // 4), replace=False)]
        changed = machine.gibbs_step(watched, rng) - watched
        schedule.add(float(np.abs(changed).mean()), epoch=epoch, updates=epoch * (len(x) // batch))
        if schedule.stop:
            break
    uncentered = machine.hidden_bias - machine.mean @ machine.weights
    return machine._replace(hidden_bias=uncentered, mean=np.zeros_like(machine.mean)), schedule, epoch


def train_epoch(
    model: RBM, x: Floats, batch: int, machine: Machine, velocity: Floats, schedule: Schedule, rng: np.random.Generator
) -> None:
    """Ascend by contrastive divergence, mini-batch by mini-batch; rows left over are dropped."""
    rate = model.learning_rate * 0.5**schedule.halvings
    step, bias_step = rate / batch, rate * model.bias_factor / batch
    momentum = model.late_momentum if schedule.late else model.momentum
    weights, hidden_bias, visible_bias, _ = machine
    ones = np.ones(batch, dtype=np.float32)
    for first in range(0, len(x) - batch + 1, batch):
        v = x[first : first + batch]
        h = machine.draw_hidden(v, rng)
        end_v = machine.draw_visible(h, rng)
        for _ in range(model.cd_steps - 1):
            end_v = machine.gibbs_step(end_v, rng)
        end_h = machine.hidden(end_v)  # probabilities, which are less noisy than bits
        velocity *= momentum
        velocity += v.T @ h
        velocity -= end_v.T @ end_h
        weights += step * velocity
        visible_bias += bias_step * (ones @ (v - end_v))
        hidden_bias += bias_step * (ones @ (h - end_h))


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
        """Add one measurement, made after a number of epochs and updates."""
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
        """Return r from 0 to 1: 0 without any gain, and 1 as long as a quarter is less than one measurement."""
        steps = len(self.smoothed) - 1
        quarter = steps // 4
        if quarter == 0:
            return 1.0
        first, end = self.smoothed[0], self.smoothed[-1]
        if first <= end:
            return 0.0
        return min(max((self.smoothed[steps - quarter] - end) / (first - end), 0.0), 1.0)

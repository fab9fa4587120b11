"""Denoising autoencoder, the model of the paper: its training (Algorithm 2) and its sampling (Algorithm 3).

Names are those of the paper: x is a row of bits, q(x) the same row with noise, c encodes it as h, f decodes h as the
reconstruction z, and theta holds the weights W and the biases b_h and b_z. The paper has one hidden layer. With more of
them, a row passes all encoders on its way up, and all decoders, which share the encoders' weights, on its way down.

All of it is NumPy, with one row of a matrix for each row of bits. Most of the time goes into the matrix products.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar, Literal, NamedTuple, TypeAlias

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
from daedal.rng import words16
from daedal.settings.checks import check_at_least, check_between
from daedal.settings.parameters import written
from daedal.threads import one_blas_thread
from daedal.types import Bits

Floats: TypeAlias = NDArray[np.float32]

BIAS_FACTOR = 5.0
"""Learning rate of the biases, as a multiple of that of the weights: as in the program of the paper's author."""

MOST_HELD_OUT = 500  # rows for validation
OVERFITTING = 0.1  # excess of the validation error over the training error at which training stops (the paper's 10 %)
MEAN_WITHIN = (0.005, 0.995)  # a first bias is the logit of a mean that is clipped so that no bit is certain
SIGMOID_GAIN = 4.0  # the logistic function is a quarter as steep as the one that Glorot's scale is made for
SMALLEST_PROBABILITY = 1e-7  # keeps the cross entropy finite
SAMPLED_AT_A_TIME = 512  # rows, so that they stay in the cache


@dataclass(frozen=True, kw_only=True)
class DAE(Model):
    """Denoising autoencoder with one or more hidden layers.

    The defaults solve as many problems as the settings of the paper, in a fraction of the CPU time: each generation
    trains for 250 large steps that start at half of the parameters of the last generation. `DAE.paper_2015()` has the
    settings of the paper, and `DAE.author_2016()` those of its author's later program.

    Parameters
    ----------
    hidden
        Hidden units. Several layers are numbers with commas, as in 100,50. Default: one layer with as many units as
        there are variables.
    corruption
        Probability that a bit is replaced by a fair random bit, in training and in sampling.
    learning_rate
        Learning rate of the weights; that of the biases is five times as high. Default: 24 / n, at most 0.8.
    momentum
        Share of its last update by which a weight keeps moving.
    weight_decay
        Each update shrinks the weights by learning_rate * weight_decay. With negative values, they grow.
    init_scale
        Standard deviation of the first parameters. With "glorot", that of the weights is 4 sqrt(2 / (inputs +
        outputs)) of their layer, and the first biases are zero.
    biases
        First biases: drawn like the weights ("normal"), or such that the first reconstruction has the parents' share of
        ones in each variable ("marginals").
    warm_start
        Share of the last generation's parameters in the first parameters; the rest is drawn. 0 starts from scratch.
    batch_size
        Rows in a mini-batch, but at most a fifth of the rows of an epoch.
    max_rows
        Maximum number of rows in an epoch, drawn again for each epoch; `None` for all rows.
    validation
        Share of the parents that is held out of training, at most 500 rows. Training also stops when their error has
        converged, or is 10 % above the training error.
    gamma
        Training stops when its last third has brought less than this share of the total decrease of the error.
    check_every
        Epochs between two measurements of the error.
    min_epochs, max_epochs
        Minimum and maximum number of epochs.
    sampling_steps
        Rounds of corruption and reconstruction from random bits to a sample, s in the paper.
    binarise
        If True, each round of sampling draws bits, and not only the last one.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = np.repeat(rng.integers(0, 2, (200, 2), dtype=np.uint8), 5, axis=1)
    >>> DAE().fit(x, rng=rng).sample(3, rng=rng).shape
    (3, 10)
    """

    hidden: int | tuple[int, ...] | None = None
    corruption: float = 0.03
    learning_rate: float | None = None
    momentum: float = 0.3
    weight_decay: float = 0.0
    init_scale: float | Literal["glorot"] = 0.005
    biases: Literal["normal", "marginals"] = "normal"
    warm_start: float = 0.5
    batch_size: int = 100
    max_rows: int | None = 500
    validation: float = 0.0
    gamma: float = 0.05
    check_every: int = 5
    min_epochs: int = 50
    max_epochs: int = 50
    sampling_steps: int = 10
    binarise: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.hidden, list | tuple):  # one way to write one layer, so that files have the same settings
            object.__setattr__(self, "hidden", self.hidden[0] if len(self.hidden) == 1 else tuple(self.hidden))
        layers = self.hidden if isinstance(self.hidden, tuple) else () if self.hidden is None else (self.hidden,)
        if self.hidden == () or any(units < 1 for units in layers):
            raise ValueError(
                "expected hidden to be one or more layers of at least 1 unit each, as in 100 or 100,50, got "
                f"hidden={written(self.hidden) or '()'}"
            )
        between = {"corruption": (0, 1), "momentum": (0, 0.999), "weight_decay": (-1, 1), "warm_start": (0, 1)}
        between |= {"validation": (0, 0.9), "sampling_steps": (1, 10_000)}
        for name, (low, high) in between.items():
            check_between(name, getattr(self, name), low, high)
        if self.init_scale != "glorot":
            check_between("init_scale", self.init_scale, 0.0, 100.0)
        at_least = {"learning_rate": 0, "gamma": 0, "min_epochs": 0}
        at_least |= {"batch_size": 1, "max_rows": 1, "check_every": 1, "max_epochs": 1}
        for name, low in at_least.items():
            if (value := getattr(self, name)) is not None:
                check_at_least(name, value, low)

    @classmethod
    def paper_2015(cls) -> DAE:
        """Return the settings of the paper, and of its author's program where the paper does not say.

        The errors are measured every 5 epochs, as in the program. The paper says every 2. With 2, the stop rule ends
        training too early to give the paper's results (docs/research.md has the runs). The negative weight decay is a
        wrong sign in the program.

        Examples
        --------
        >>> DAE.paper_2015().learning_rate
        0.2
        """
        return cls(
            corruption=0.1, learning_rate=0.2, momentum=0.0, weight_decay=-0.001, init_scale=0.01, warm_start=0.0,
            max_rows=None, validation=0.1, min_epochs=25, max_epochs=2000,
        )  # fmt: skip

    @classmethod
    def author_2016(cls) -> DAE:
        """Return the settings of the author's later program, with a corruption of 0.05 and no decay (docs/research.md).

        Examples
        --------
        >>> DAE.author_2016().max_epochs
        2000
        """
        return cls(corruption=0.05, learning_rate=0.1, warm_start=0.0, max_rows=None, max_epochs=2000)

    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> FittedDAE:
        """Train on rows x, shape (rows, n), until the error stops falling."""
        self.check_memory(*check_parents(x))
        theta = first_parameters(self, x, rng)
        if isinstance(previous, FittedDAE) and previous.widths == self.widths(x.shape[1]) and self.warm_start > 0:
            old, new = np.float32(self.warm_start), np.float32(1 - self.warm_start)
            theta = tuple(
                Layer(*(new * drawn + old * kept for drawn, kept in zip(*layers, strict=True)))
                for layers in zip(theta, previous.theta, strict=True)
            )
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):  # training may diverge
            theta, errors, epochs, error = train(self, x[rng.permutation(len(x))].astype(np.float32), theta, rng)
        for array in (array for layer in theta for array in layer):
            check_converged(array, "the autoencoder", self.rate(x.shape[1]))
        info = {"epochs": epochs, "error": error}
        if errors.validation:
            info["validation_error"] = min(errors.validation)
        return FittedDAE(
            theta=theta,
            corruption=self.corruption,
            sampling_steps=self.sampling_steps,
            binarise=self.binarise,
            info=info,
            training=TrainingCurve.every(self.check_every, errors.train, last=epochs),
        )

    def rate(self, n: int) -> float:
        """Return the learning rate for n variables; the more there are, the more go into each hidden unit."""
        return min(0.8, 24 / n) if self.learning_rate is None else float(self.learning_rate)

    def widths(self, n: int) -> tuple[int, ...]:
        """Return the number of variables, and the units of each hidden layer.

        Examples
        --------
        >>> DAE().widths(50), DAE(hidden=(40, 20)).widths(50)
        ((50, 50), (50, 40, 20))
        """
        if self.hidden is None:
            return (n, n)
        return (n, *self.hidden) if isinstance(self.hidden, tuple) else (n, self.hidden)

    def divide(self, rows: int) -> tuple[int, int, int]:
        """Return how many rows are held out, how many an epoch takes, and how many of these are a mini-batch."""
        held_out = min(int(self.validation * rows), MOST_HELD_OUT)
        used = rows - held_out if self.max_rows is None else min(rows - held_out, self.max_rows)
        return held_out, used, max(1, min(self.batch_size, used // 5))

    def working_bytes(self, rows: int, n: int) -> int:
        """Return the approximate memory of a fit, which has weights and noise, and of drawing rows."""
        held_out, used, _ = self.divide(rows)
        copies = 7 + 2 * (self.warm_start > 0)  # weights, gradients, momenta, the best, a draw in float64, the last
        weights = sum(below * above for below, above in pairwise(self.widths(n)))
        drawn = min(rows, SAMPLED_AT_A_TIME)
        return 4 * copies * weights + 4 * rows * n + 16 * (held_out + used + drawn) * max(self.widths(n))

    def working_seconds(self, rows: int, n: int) -> float:
        """Return the approximate CPU time: five products of rows and weights in an epoch, two in a step of drawing.

        Training usually takes half as many epochs again as its minimum.
        """
        _, used, _ = self.divide(rows)
        epochs = min(1.5 * self.min_epochs, self.max_epochs)
        weights = sum(below * above for below, above in pairwise(self.widths(n)))
        return (5 * epochs * used + 2 * self.sampling_steps * rows) * weights / PRODUCTS_A_SECOND


class Layer(NamedTuple):
    """The parameters of one hidden layer; its decoder has the transposed weights of its encoder."""

    weights: Floats  # W, (n, m)
    hidden_bias: Floats  # b_h, (m,)
    output_bias: Floats  # b_z, (n,)


Theta: TypeAlias = tuple[Layer, ...]


@dataclass(frozen=True, kw_only=True)
class FittedDAE(Fitted):
    """A trained autoencoder."""

    theta: Theta
    corruption: float
    sampling_steps: int
    binarise: bool = False
    training: TrainingCurve | None = None

    linkage_source: ClassVar[str] = "the weights of the autoencoder"

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of variables, and the units of each hidden layer."""
        return (self.theta[0].weights.shape[0], *(layer.weights.shape[1] for layer in self.theta))

    def linkage(self) -> NDArray[np.float64]:
        """Return by how much a bit moves the logit of another's reconstruction, shape (n, n), hidden units half on."""
        weights = self.theta[0].weights
        with one_blas_thread():
            for layer in self.theta[1:]:
                weights = weights @ (np.float32(0.25) * layer.weights)  # a hidden unit passes on a quarter at most
        return linkage_of_weights(weights)

    def curve(self) -> TrainingCurve | None:
        """Return the errors measured in training."""
        return self.training

    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        """Draw rows, shape (rows, n), from random bits (Algorithm 3)."""
        return self.sample_from(rng.integers(0, 2, (rows, self.widths[0]), dtype=np.uint8), rng=rng)

    def sample_from(self, start: Bits, *, rng: np.random.Generator) -> Bits:
        """Draw a row from each row of the start, shape (rows, n), by some rounds of corruption and reconstruction."""
        out = np.empty_like(start, order="C")
        with one_blas_thread():
            for first in range(0, len(start), SAMPLED_AT_A_TIME):
                part = slice(first, first + SAMPLED_AT_A_TIME)
                out[part] = draw(self._chain(start[part].astype(np.float32), rng), rng)
        return out

    def _chain(self, x: Floats, rng: np.random.Generator) -> Floats:
        """Return the probability of a one after s steps (Algorithm 3, lines 3-7)."""
        for step in range(self.sampling_steps):
            if self.binarise and step > 0:
                x = draw(x, rng).astype(np.float32)
            x = reconstruct(corrupt(x, self.corruption, rng), self.theta)
        return x


# ------------------------------------------------------------ the network


def corrupt(x: Floats, corruption: float, rng: np.random.Generator) -> Floats:
    """Return q(x), salt+pepper noise: each entry becomes a fair random bit with the probability of a corruption."""
    words, noisy = words16(rng, x.size)[: x.size], x.flatten()
    hit = np.flatnonzero(words < 2 * round(corruption * 2**15))  # an even limit: the lowest bit of these words is fair
    noisy[hit] = words[hit] & np.uint16(1)
    return noisy.reshape(x.shape)


def draw(probabilities: Floats, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw bits with the probabilities of a one."""
    return rng.random(probabilities.shape, dtype=np.float32) < probabilities


def sigmoid(a: Floats) -> Floats:
    """Return the logistic function of an array, in its place."""
    half = np.float32(0.5)
    a *= half  # sigm(a) = (1 + tanh(a / 2)) / 2, which cannot overflow
    np.tanh(a, out=a)
    a *= half
    a += half
    return a


def encode(x: Floats, layer: Layer) -> Floats:
    """Return h = c(x) = sigm(x W + b_h)."""
    a = x @ layer.weights
    a += layer.hidden_bias
    return sigmoid(a)


def decode(h: Floats, layer: Layer) -> Floats:
    """Return z = f(h) = sigm(h W^T + b_z)."""
    a = h @ layer.weights.T
    a += layer.output_bias
    return sigmoid(a)


def reconstruct(x: Floats, theta: Theta) -> Floats:
    """Return f(c(x)), through all layers."""
    for layer in theta:
        x = encode(x, layer)
    for layer in reversed(theta):
        x = decode(x, layer)
    return x


def mean_error(x: Floats, noisy: Floats, theta: Theta) -> float:
    """Return the mean of Err(x, z) over the rows: the cross entropy in nats, with z reconstructed from noisy rows."""
    right = 1 - np.abs(x - reconstruct(noisy, theta))  # probability that the reconstruction gives to the right bit
    logs = np.log(np.maximum(right, np.float32(SMALLEST_PROBABILITY)))
    return -float(logs.sum(dtype=np.float64)) / len(x)


def gradient(x: Floats, noisy: Floats, theta: Theta) -> Theta:
    """Return dErr(x, z) / dtheta, summed over the rows, by backpropagation (Algorithm 2, lines 5 to 7)."""
    values = [noisy]  # what each encoder and decoder reads, in the order of the pass
    for layer in theta:
        values.append(encode(values[-1], layer))
    for layer in reversed(theta):
        values.append(decode(values[-1], layer))
    error = values.pop()  # z; with cross entropy, the error before the logistic function is z - x
    error -= x
    ones, slopes = np.ones(len(x), dtype=np.float32), []
    for layer, h in zip(theta, reversed(values), strict=False):  # back through the decoders
        slopes.append((error.T @ h, ones @ error))
        error = error @ layer.weights
        error *= h - h * h
    found = []
    for k in range(len(theta) - 1, -1, -1):  # and through the encoders
        below = values[k]
        weights, output_bias = slopes[k]
        weights += below.T @ error
        found.append(Layer(weights, ones @ error, output_bias))
        if k > 0:
            error = error @ theta[k].weights.T
            error *= below - below * below
    return tuple(reversed(found))


# ------------------------------------------------------------ training


def first_parameters(model: DAE, x: Bits, rng: np.random.Generator) -> Theta:
    """Draw the parameters that training starts from (Algorithm 2, line 1)."""
    found, mean = [], x.mean(axis=0) if model.biases == "marginals" else None
    for n, m in pairwise(model.widths(x.shape[1])):
        glorot = model.init_scale == "glorot"
        scale = SIGMOID_GAIN * math.sqrt(2 / (n + m)) if glorot else float(model.init_scale)
        weights = scale * rng.standard_normal((n, m))
        if mean is not None:  # hidden units are half on at the mean, and half-on hidden units lead back to the mean
            likely = np.clip(mean, *MEAN_WITHIN)
            biases = [-mean @ weights, np.log(likely / (1 - likely)) - weights.sum(axis=1) / 2]
            mean = np.full(m, 0.5)
        else:
            biases = [np.zeros(width) if glorot else scale * rng.standard_normal(width) for width in (m, n)]
        found.append(Layer(*(array.astype(np.float32) for array in (weights, *biases))))
    return tuple(found)


def train(model: DAE, x: Floats, theta: Theta, rng: np.random.Generator) -> tuple[Theta, Errors, int, float]:
    """Train theta in place on rows x, shape (rows, n), in random order, until the error has converged (Algorithm 2).

    Returns the parameters at the lowest error, all measured errors, the number of epochs, and the training error of
    these parameters. If rows are held out, the lowest error is that of validation. If no error was a number, theta
    itself is returned.
    """
    held_out, used, batch = model.divide(len(x))
    held, rows = x[:held_out], x[held_out:]
    watched = rows[: 3 * batch]
    noisy_held, noisy_watched = corrupt(held, model.corruption, rng), corrupt(watched, model.corruption, rng)
    momenta = [np.zeros_like(layer.weights) for layer in theta]
    best, best_error, epoch, errors = theta, math.inf, 0, Errors(model.gamma)
    while epoch < model.max_epochs:
        train_epoch(model, rows[rng.choice(len(rows), used, replace=False)], batch, theta, momenta, rng)
        epoch += 1
        if epoch % model.check_every and epoch < model.max_epochs:
            continue
        error = mean_error(watched, noisy_watched, theta)
        if errors.add(error, mean_error(held, noisy_held, theta) if held_out else None):
            best, best_error = tuple(Layer(*map(np.copy, layer)) for layer in theta), error
        if epoch >= model.min_epochs and errors.converged():
            break
    return best, errors, epoch, best_error


def train_epoch(
    model: DAE, x: Floats, batch: int, theta: Theta, momenta: list[Floats], rng: np.random.Generator
) -> None:
    """Descend along the gradient of each mini-batch (Algorithm 2, lines 4 to 8); rows left over are dropped."""
    rate = model.rate(x.shape[1])
    step, bias_step, keep = rate / batch, BIAS_FACTOR * rate / batch, 1 - rate * model.weight_decay
    noisy = corrupt(x, model.corruption, rng)
    for first in range(0, len(x) - batch + 1, batch):
        part = slice(first, first + batch)
        slopes = gradient(x[part], noisy[part], theta)
        for (weights, hidden_bias, output_bias), slope, momentum in zip(theta, slopes, momenta, strict=True):
            momentum *= model.momentum
            momentum += slope.weights
            if keep != 1:
                weights *= keep
            weights -= step * momentum
            hidden_bias -= bias_step * slope.hidden_bias
            output_bias -= bias_step * slope.output_bias


@dataclass
class Errors:
    """The errors measured so far, and the rule by which they end training.

    The paper's gamma is the share of the total decrease that the last third of training brought. As in its author's
    program, errors are smoothed by a moving average, whose width grows with the number of measurements.
    """

    gamma: float
    train: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)

    def add(self, train: float, validation: float | None) -> bool:
        """Add a measurement; return True if it is the best so far, by the validation error if there is one."""
        self.train.append(train)
        if validation is not None:
            self.validation.append(validation)
        decisive = self.validation or self.train
        return decisive[-1] <= min(decisive)

    def converged(self) -> bool:
        """Return True if an error no longer falls, or its last third has brought too little, or training overfits."""
        shares = [late_gain(errors) for errors in (self.train, self.validation) if errors]
        if any(share is None or share < self.gamma for share in shares):
            return True
        return bool(self.validation) and gap(self.train, self.validation) > OVERFITTING


def late_gain(errors: Sequence[float]) -> float | None:
    """Return gamma, by smoothed errors; None if they have not fallen at all."""
    half = half_width(len(errors))
    last = len(errors) - 1 - half  # the last point with a full window
    if last < 1:
        return 1.0  # too early to tell
    end = smoothed(errors, last, half)
    gain = smoothed(errors, 0, half) - end
    if gain <= 0:
        return None
    return (smoothed(errors, (2 * last) // 3, half) - end) / gain


def gap(train: Sequence[float], validation: Sequence[float]) -> float:
    """Return by how much the validation error is above the training error, as a share of the latter, both smoothed."""
    half = half_width(len(train))
    last = len(train) - 1 - half
    level, other = (smoothed(errors, last, half) if last >= 0 else errors[-1] for errors in (train, validation))
    return (other - level) / level if level > 0 else 0.0


def half_width(measurements: int) -> int:
    """Return the half width of the moving average."""
    return 2 + (measurements >= 20) + (measurements >= 30)


def smoothed(errors: Sequence[float], index: int, half: int) -> float:
    """Average errors over index - half ... index + half, with the first error repeated before the first."""
    window = [errors[max(i, 0)] for i in range(index - half, index + half + 1)]
    return sum(window) / len(window)

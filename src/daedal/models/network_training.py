"""Training of an autoencoder of one or more layers: starts, pretraining, and epochs until the errors say stop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.compilation import announce
from daedal.models.base import Fitted, TrainingCurve, check_converged, check_parents
from daedal.models.network_noise import shape_of
from daedal.models.network_samples import FittedDAE, workspaces
from daedal.models.network_start import blended, drawn_stack
from daedal.models.training import TrainingErrors, checked_epochs, curve_of, train_to_convergence
from daedal.rng import words16, words32
from daedal.threads import one_blas_thread
from daedal.types import Bits

if TYPE_CHECKING:
    from daedal.models.dae import DAE

SHORT = 2
"""Measurements' worth of epochs that each of several starts gets."""


class TrainedNetwork(NamedTuple):
    """What a training gives: parameters, what it has to tell, the noise it was trained with, and its errors."""

    stack: kernels.network.Stack
    info: dict[str, float]
    shape: kernels.noise.NoiseShape
    curve: TrainingCurve


@dataclass
class Learner:
    """Parameters in training, and what their updates remember."""

    stack: kernels.network.Stack
    gradients: kernels.network.Gradients
    moments: tuple[kernels.descent.Moments, ...]
    updates: int = 0

    @classmethod
    def of(cls, stack: kernels.network.Stack, *, adam: bool) -> Learner:
        """Make one that has made no update."""
        gradients = tuple(kernels.dae.zero_gradient(theta) for theta in stack)
        return cls(stack, gradients, tuple(kernels.descent.zero_moments(theta, adam=adam) for theta in stack))


@dataclass
class Lessons:
    """Rows to train on, shape (rows, padded n), in an order that every epoch changes, and how many of them it takes."""

    rows: Bits
    used: int
    batch: int
    order: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.order = np.arange(len(self.rows))

    @property
    def batches(self) -> int:
        """Batches of an epoch."""
        return self.used // self.batch


@dataclass(frozen=True)
class Training:
    """One fit of an autoencoder: its model, and what is the same in all of its epochs."""

    model: DAE
    widths: tuple[int, ...]
    shape: kernels.noise.NoiseShape
    rng: np.random.Generator

    def fit(self, data: Bits, previous: kernels.network.Stack | None) -> TrainedNetwork:
        """Train until an error says stop; give the parameters of the lowest measured one (Algorithm 2)."""
        model, n = self.model, self.widths[0]
        held_out, lessons, watched = self.divided(data)
        works = self.works(self.widths, lessons.batch)
        learner = self.start(data[:, :n], previous)
        noisy, noisy_held_out = (self.corrupted(rows, works[0]) for rows in (watched, held_out))

        def measure(one: Learner) -> tuple[float, float | None]:
            error = partial(kernels.network.mean_error, squared=model.error == "squared")
            errors = [
                float(error(x=rows, corrupted=corrupted, stack=one.stack, widths=self.widths, works=works))
                for rows, corrupted in ((watched, noisy), (held_out, noisy_held_out))
                if len(rows)
            ]
            return errors[0], errors[1] if len(held_out) else None

        starts = [learner, *(self.start(data[:, :n], previous) for _ in range(model.starts - 1))]
        learner = min(self.begun(starts, lessons, works), key=lambda one: measure(one)[0])
        errors = TrainingErrors(gamma=model.gamma, overfitting=model.overfitting)
        best, epochs, error = train_to_convergence(
            learner.stack,
            self.epochs(learner, lessons, works),
            lambda: measure(learner),
            lambda stack: tuple(map(kernels.dae.copy_parameters, stack)),
            errors,
            min_epochs=max(model.min_epochs, -(-model.min_updates // lessons.batches)),
        )
        for values in (values for theta in best for values in theta):
            check_converged(values, "the autoencoder", model.rate(n))
        info = {"epochs": epochs, "error": float(error)}
        if errors.validation:
            info["validation_error"] = min(errors.validation)
        curve = curve_of(errors.train, every=model.check_every, last=epochs)
        return TrainedNetwork(best, info, self.shape, curve)

    def divided(self, data: Bits) -> tuple[Bits, Lessons, Bits]:
        """Divide rows into those held out, those to train on, and those of these on which the error is measured."""
        held_out, batch, watched = self.model.divide(len(data))
        rows = data[held_out:]
        used = distinct_rows(rows) if self.model.distinct else len(rows)
        used = used if self.model.max_rows is None else min(used, self.model.max_rows)
        if used < len(rows):
            batch, watched = self.model.batch_of(used)
        return data[:held_out], Lessons(rows, used, batch), rows[:watched]

    def works(self, widths: tuple[int, ...], batch: int) -> kernels.network.Workspaces:
        """Make the workspaces of a training."""
        model = self.model
        return workspaces(widths, batch, model.corruption, tied=model.tied, walkback=model.walkback > 0)

    def start(self, x: Bits, previous: kernels.network.Stack | None) -> Learner:
        """Draw the first parameters, or take part of the last generation's."""
        model = self.model
        mean = x.mean(axis=0) if model.biases == "marginals" else None
        scale, rng = model.init_scale, self.rng
        stack = drawn_stack(self.widths, tied=model.tied, init=model.init, scale=scale, mean=mean, rng=rng)
        if previous is not None and model.warm_start > 0:
            stack = blended(stack, previous, model.warm_start)
        return Learner.of(stack, adam=model.optimizer == "adam")

    def begun(self, starts: list[Learner], lessons: Lessons, works: kernels.network.Workspaces) -> list[Learner]:
        """Pretrain all starts, and train them for a short while if there are several."""
        for one in starts:
            self.pretrain(one, lessons)
            if len(starts) > 1:
                self.train(one, lessons, works, SHORT * self.model.check_every)
        return starts

    def pretrain(self, learner: Learner, lessons: Lessons) -> None:
        """Train each of several layers by itself, on bits drawn from the codes of the layers below."""
        if self.model.pretrain == 0 or len(learner.stack) == 1:
            return
        model = replace(self.model, learning_rate=self.model.rate(self.widths[0]))  # of the whole, for all layers
        adam, rows = model.optimizer == "adam", lessons.rows
        for k, theta in enumerate(learner.stack):
            widths = self.widths[k : k + 2]
            own = Training(model, widths, kernels.noise.noise_shape(), self.rng)
            layer, of_layer = Learner.of((theta,), adam=adam), Lessons(rows, lessons.used, lessons.batch)
            works = self.works(widths, lessons.batch)
            own.train(layer, of_layer, works, self.model.pretrain)
            rows = self.codes(rows, theta, widths)

    def codes(self, x: Bits, theta: kernels.dae.Parameters, widths: tuple[int, ...]) -> Bits:
        """Draw the bits of hidden units, shape (rows, padded m), for rows x, shape (rows, padded n)."""
        out = np.zeros((len(x), theta.hidden_bias.size), dtype=np.uint8)
        works = workspaces(widths, 512, 0.0)
        for first in range(0, len(x), 512):
            block = x[first : first + 512].astype(np.float32)
            b, m = len(block), widths[1]
            kernels.network.encode(block, (theta,), widths, works)
            out[first : first + b, :m] = self.rng.random((b, m), dtype=np.float32) < works[0].hiddens[b : 2 * b, :m]
        return out

    def epochs(self, learner: Learner, lessons: Lessons, works: kernels.network.Workspaces) -> Iterator[int]:
        """Train, and give the number of epochs so far wherever errors are to be measured."""
        return checked_epochs(
            lambda epochs: self.train(learner, lessons, works, epochs),
            check_every=self.model.check_every,
            max_epochs=self.model.max_epochs,
            words_an_epoch=lessons.used * (1 + self.model.walkback) * self.widths[0],
        )

    def train(self, learner: Learner, lessons: Lessons, works: kernels.network.Workspaces, epochs: int) -> None:
        """Train for some epochs."""
        model, n, steps = self.model, self.widths[0], 1 + self.model.walkback
        rate = model.rate(n)
        rule = kernels.descent.Rule(
            rate=rate,
            bias_rate=rate * model.bias_factor,
            momentum=float(model.momentum),
            keep=1.0 - rate * model.weight_decay,
            adam=model.optimizer == "adam",
        )
        swaps = words32(self.rng, epochs * len(lessons.rows))
        noise = words16(self.rng, epochs * lessons.used * steps * n + kernels.tiles.LANES)
        learner.updates = kernels.network.train(
            lessons.rows, lessons.order, lessons.used, swaps, noise, self.shape, epochs, lessons.batch, model.walkback,
            model.tied, model.error == "squared", rule, learner.updates, learner.stack, self.widths, works,
            learner.gradients, learner.moments,
        )  # fmt: skip

    def corrupted(self, x: Bits, work: kernels.dae.Workspace) -> NDArray[np.float32]:
        """Corrupt rows x, shape (rows, padded n), once."""
        n, out = self.widths[0], np.zeros(x.shape, dtype=np.float32)
        words = words16(self.rng, len(x) * n + kernels.tiles.LANES)
        kernels.noise.corrupt_some_bits(x, np.arange(len(x)), words, n, work.limits, self.shape, out)
        return out


def distinct_rows(x: Bits) -> int:
    """Count the distinct rows of x, shape (rows, n).

    Examples
    --------
    >>> distinct_rows(np.array([[1, 0], [0, 0], [1, 0]], dtype=np.uint8))
    2
    """
    packed = np.packbits(x, axis=1)
    return len(np.unique(packed.view(np.dtype((np.void, packed.shape[1])))))


def train_network(model: DAE, x: Bits, rng: np.random.Generator, previous: Fitted | None) -> TrainedNetwork:
    """Train a network on rows x, shape (rows, n), by the kernels."""
    announce(kernels.network.train)
    rows, n = check_parents(x)
    model.check_memory(rows, n)
    widths = model.widths(n)
    data = np.zeros((rows, kernels.products.padded(n)), dtype=np.uint8)
    data[:, :n] = x[rng.permutation(rows)]
    shape = shape_of(model.noise, data[:, :n], corruption=model.corruption, length=model.block_size)
    known = previous.stack if isinstance(previous, FittedDAE) and previous.widths == widths else None
    with one_blas_thread():
        return Training(model, widths, shape, rng).fit(data, known)

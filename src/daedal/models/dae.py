"""The denoising autoencoder as a model of the parents: the paper's Algorithms 2 and 3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.models.base import PRODUCTS_A_SECOND, Fitted, Model, TrainingCurve, check_converged, check_parents
from daedal.models.training import TrainingErrors, checked_epochs, curve_of, products_of, train_to_convergence
from daedal.rng import words16, words32
from daedal.settings.checks import check_at_least, check_between
from daedal.types import Bits

_WEIGHT_COPIES = 9  # encoder, decoder, gradients, scratch, the best so far, and the first draw, which is in float64
_BYTES_AN_ENTRY = 8  # of the rows: padded, corrupted, and the noise of an epoch
_SAMPLED_AT_A_TIME = 512
_MOST_HELD_OUT = 500


@dataclass(frozen=True, kw_only=True)
class FittedDAE(Fitted):
    """A trained autoencoder of n visible and m hidden units."""

    theta: kernels.dae.Parameters  # padded as `kernels.products` says
    n: int
    m: int
    corruption: float
    sampling_steps: int
    training: TrainingCurve | None = None

    linkage_source: ClassVar[str] = "the weights of the autoencoder"

    def linkage(self) -> NDArray[np.float64]:
        """Give how much one bit moves the logit of another's reconstruction, shape (n, n), hidden units half on."""
        encoder, decoder = self.theta.encoder[: self.n, : self.m], self.theta.decoder[: self.n, : self.m]
        return products_of(encoder, decoder)

    def curve(self) -> TrainingCurve | None:
        """Give the errors measured in training."""
        return self.training

    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        """Draw rows, shape (rows, n): s rounds of corruption and reconstruction of random bits, then a draw per bit."""
        out = np.empty((rows, self.n), dtype=np.uint8)
        work = kernels.dae.make_workspace(self.n, self.m, min(max(rows, 1), 128), self.corruption)
        steps, spare = self.sampling_steps, kernels.tiles.LANES
        with kernels.threads.one_blas_thread():
            for first in range(0, rows, _SAMPLED_AT_A_TIME):
                block = out[first : first + _SAMPLED_AT_A_TIME]
                start = words16(rng, block.size)
                noise = words16(rng, steps * block.size + spare)
                draws = words32(rng, block.size)
                kernels.dae.sample(start, noise, draws, steps, self.n, self.m, self.theta, work, block)
        return out

    def sample_from(
        self, rows: Bits, *, clamped: Bits | None = None, steps: int | None = None, rng: np.random.Generator
    ) -> Bits:
        """Draw a row from each of these, shape (rows, n), by so many rounds; what is clamped, where 1, stays."""
        steps, spare = self.sampling_steps if steps is None else steps, kernels.tiles.LANES
        start = np.ascontiguousarray(rows, dtype=np.uint8)
        held = np.zeros_like(start) if clamped is None else np.ascontiguousarray(clamped, dtype=np.uint8)
        if start.ndim != 2 or start.shape[1] != self.n or held.shape != start.shape or steps < 1:
            raise ValueError(
                f"expected rows of {self.n} bits, {steps=} of at least 1, and clamped bits of the same shape"
            )
        out = np.empty_like(start)
        work = kernels.dae.make_workspace(self.n, self.m, min(max(len(out), 1), 128), self.corruption)
        with kernels.threads.one_blas_thread():
            for first in range(0, len(out), _SAMPLED_AT_A_TIME):
                part = slice(first, first + _SAMPLED_AT_A_TIME)
                noise, draws = words16(rng, steps * out[part].size + spare), words32(rng, out[part].size)
                kernels.clamped.sample_given(
                    start[part], held[part], noise, draws, steps, self.n, self.m, self.theta, work, out[part]
                )
        return out


@dataclass(frozen=True, kw_only=True)
class DAE(Model):
    """Denoising autoencoder with one hidden layer.

    The defaults are the settings that the paper's author used later, with a corruption of 0.05, which solved as much
    as 0.1 or more (docs/models.md), and without weight decay. `DAE.paper_2015()` has those of the paper.

    Parameters
    ----------
    hidden
        Hidden units m; None: as many as variables.
    tied
        Whether the decoder's weights are the transpose of the encoder's.
    error
        What training minimises: "cross-entropy" or "squared".
    corruption
        Probability that an entry is replaced by a fair random bit, in training and in sampling.
    learning_rate, bias_factor
        Rate for weights; that of biases is learning_rate * bias_factor.
    momentum
        Share of its last update that a weight keeps moving by; biases have none.
    weight_decay
        Shrinks the weights by learning_rate * weight_decay at every update; negative values let them grow.
    init_scale
        Standard deviation of the first parameters.
    batch_size
        Rows of a mini-batch; a fifth of the training rows where that is less.
    validation
        Share of the parents that is not trained on but watched, at most 500 rows.
    overfitting
        Stop when the validation error is more than this share above the training error; None: never.
    gamma
        Stop when the last third of training brought less than this share of all gain.
    check_every, min_epochs, min_updates, max_epochs
        Errors are measured every so many epochs; training lasts at least and at most so long.
    sampling_steps
        Rounds of corruption and reconstruction, s in the paper.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = np.repeat(rng.integers(0, 2, (200, 2), dtype=np.uint8), 5, axis=1)
    >>> DAE().fit(x, rng=rng).sample(3, rng=rng).shape
    (3, 10)
    """

    compiled: ClassVar[bool] = True

    hidden: int | None = None
    tied: bool = True
    error: Literal["cross-entropy", "squared"] = "cross-entropy"
    corruption: float = 0.05
    learning_rate: float = 0.1
    bias_factor: float = 5.0
    momentum: float = 0.3
    weight_decay: float = 0.0
    init_scale: float = 0.005
    batch_size: int = 100
    validation: float = 0.0
    overfitting: float | None = None
    gamma: float = 0.05
    check_every: int = 5
    min_epochs: int = 50
    min_updates: int = 200
    max_epochs: int = 2000
    sampling_steps: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hidden is not None:
            check_at_least("hidden", self.hidden, 1)
        check_between("corruption", self.corruption, 0.0, 1.0)
        check_between("momentum", self.momentum, 0.0, 0.999)
        check_between("validation", self.validation, 0.0, 0.9)
        check_between("weight_decay", self.weight_decay, -1.0, 1.0)
        check_between("init_scale", self.init_scale, 0.0, 100.0)
        for name in ("learning_rate", "bias_factor", "gamma", "min_epochs", "min_updates"):
            check_at_least(name, getattr(self, name), 0)
        check_between("sampling_steps", self.sampling_steps, 1, 10_000)
        for name in ("batch_size", "check_every", "max_epochs"):
            check_at_least(name, getattr(self, name), 1)
        if self.overfitting is not None:
            check_at_least("overfitting", self.overfitting, 0)

    @classmethod
    def paper_2015(cls) -> DAE:
        """Give the settings of the paper, and of its author's program where the paper is silent.

        On one point the program is followed: it measures the errors every 5 epochs, not every 2. With 2, the stopping
        rule ends training too early to give the paper's results (docs/models.md has the runs).

        Examples
        --------
        >>> DAE.paper_2015().learning_rate
        0.2
        """
        return cls(
            corruption=0.1,
            learning_rate=0.2,
            momentum=0.0,
            weight_decay=-0.001,
            init_scale=0.01,
            validation=0.1,
            overfitting=0.1,
            min_epochs=25,
            min_updates=0,
        )

    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> FittedDAE:
        """Train from scratch on x, shape (rows, n)."""
        kernels.compilation.announce(kernels.dae.train)
        rows, n = check_parents(x)
        self.check_memory(rows, n)
        m, width = self._units(n), kernels.products.padded(n)
        data = np.zeros((rows, width), dtype=np.uint8)
        data[:, :n] = x[rng.permutation(rows)]
        with kernels.threads.one_blas_thread():
            theta, info, training = self._train(data, n, m, rng=rng)
        return FittedDAE(
            info=info,
            theta=theta,
            n=n,
            m=m,
            corruption=self.corruption,
            sampling_steps=self.sampling_steps,
            training=training,
        )

    def _units(self, n: int) -> int:
        return n if self.hidden is None else self.hidden

    def working_bytes(self, rows: int, n: int) -> int:
        """Give the memory, about, that a fit takes: weights, and noise, also that of drawing rows."""
        weights = 4 * n * self._units(n)
        drawn = 2 * self.sampling_steps * min(rows, _SAMPLED_AT_A_TIME) * n
        return _WEIGHT_COPIES * weights + _BYTES_AN_ENTRY * rows * n + drawn

    def working_seconds(self, rows: int, n: int) -> float:
        """Give the CPU time, about: five products of rows and weights an epoch, two a step of drawing.

        Training takes half as many epochs again as it must, as a rule.
        """
        held_out, batch, _ = self.divide(rows)
        least = max(self.min_epochs, self.min_updates / max((rows - held_out) // batch, 1))
        epochs = min(1.5 * least, self.max_epochs)
        return (5 * epochs + 2 * self.sampling_steps) * rows * n * self._units(n) / PRODUCTS_A_SECOND

    def divide(self, rows: int) -> tuple[int, int, int]:
        """Give how many rows are held out, how many make a batch, and on how many the training error is measured."""
        held_out = min(int(self.validation * rows), _MOST_HELD_OUT)
        batch = max(1, min(self.batch_size, (rows - held_out) // 5))
        return held_out, batch, min(3 * batch, rows - held_out)

    def _train(
        self, data: Bits, n: int, m: int, *, rng: np.random.Generator
    ) -> tuple[kernels.dae.Parameters, dict[str, float], TrainingCurve]:
        """Train until an error says stop; give the parameters of the lowest measured one (Algorithm 2)."""
        held_out, batch, watched = self.divide(len(data))
        validation, data = data[:held_out], data[held_out:]
        rows, batches = len(data), len(data) // batch
        work = kernels.dae.make_workspace(n, m, batch, self.corruption)
        theta = self._initial(n, m, rng=rng)
        gradient, order = kernels.dae.zero_gradient(theta), np.arange(rows)
        noisy = _corrupted(data[:watched], n, work, rng=rng)
        noisy_validation = _corrupted(validation, n, work, rng=rng)
        squared, rate, bias_rate = self.error == "squared", self.learning_rate, self.learning_rate * self.bias_factor
        keep = 1.0 - self.learning_rate * self.weight_decay

        def train(epochs: int) -> None:
            swaps = words32(rng, epochs * rows)
            noise = words16(rng, epochs * rows * n + kernels.tiles.LANES)
            kernels.dae.train(
                data, order, swaps, noise, epochs, batch, n, m, self.tied, squared, rate, bias_rate, self.momentum,
                keep, theta, gradient, work,
            )  # fmt: skip

        def error_of(x: Bits, corrupted: NDArray[np.float32]) -> float:
            return float(kernels.dae.mean_error(x, corrupted, n, m, squared, theta, work))

        errors = TrainingErrors(gamma=self.gamma, overfitting=self.overfitting)
        best, epochs, error = train_to_convergence(
            theta,
            checked_epochs(train, check_every=self.check_every, max_epochs=self.max_epochs, words_an_epoch=rows * n),
            lambda: (error_of(data[:watched], noisy), error_of(validation, noisy_validation) if held_out else None),
            kernels.dae.copy_parameters,
            errors,
            min_epochs=max(self.min_epochs, -(-self.min_updates // batches)),
        )
        check_converged(best.encoder, "the autoencoder", self.learning_rate)
        info = {"epochs": epochs, "error": float(error)}
        if errors.validation:
            info["validation_error"] = min(errors.validation)
        return best, info, curve_of(errors.train, every=self.check_every, last=epochs)

    def _initial(self, n: int, m: int, *, rng: np.random.Generator) -> kernels.dae.Parameters:
        """Draw small normal parameters (Algorithm 2, line 1)."""
        theta = kernels.dae.zero_parameters(n, m, tied=self.tied)

        def draw(*shape: int) -> NDArray[np.float32]:
            return (self.init_scale * rng.standard_normal(shape)).astype(np.float32)

        theta.encoder[:n, :m] = draw(n, m)
        if not self.tied:
            theta.decoder[:n, :m] = draw(n, m)
        theta.hidden_bias[:m] = draw(m)
        theta.output_bias[:n] = draw(n)
        theta.decoder_t[...] = theta.decoder.T
        return theta


def _corrupted(x: Bits, n: int, work: kernels.dae.Workspace, *, rng: np.random.Generator) -> NDArray[np.float32]:
    """Corrupt rows x, shape (rows, padded n), once."""
    out = np.zeros(x.shape, dtype=np.float32)
    words = words16(rng, len(x) * n + kernels.tiles.LANES)
    kernels.noise.corrupt_bits(x, np.arange(len(x)), words, n, work.limits, out)
    return out

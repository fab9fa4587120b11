"""The denoising autoencoder as a model of the parents: the paper's Algorithms 2 and 3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from daedal.models.base import Fitted, Model
from daedal.models.network_checks import check_network
from daedal.models.network_cost import network_bytes, network_seconds
from daedal.models.network_fitted import finished, load_kernels
from daedal.models.network_presets import AUTHOR_2016, BEFORE_LATER_SETTINGS, PAPER_2015, default_rate
from daedal.models.network_samples import FittedDAE as FittedDAE
from daedal.models.network_training import train_network
from daedal.settings.parameters import Setting
from daedal.types import Bits

_MOST_HELD_OUT = 500


@dataclass(frozen=True, kw_only=True)
class DAE(Model):
    """Denoising autoencoder with one or more hidden layers.

    The defaults solve as much as the settings of the paper and of its author's later program, for a fraction of the CPU
    time (docs/beyond.md): 250 large steps a generation, which begin at half of the last generation's parameters.
    `DAE.paper_2015()` and `DAE.author_2016()` have those settings.

    Parameters
    ----------
    hidden
        Hidden units m; of several layers, one number for each, as in 100,50, and the decoder mirrors them; None: one
        layer of as many as variables.
    tied
        Whether the decoder's weights are the transpose of the encoder's.
    error
        What training minimises: "cross-entropy" or "squared".
    corruption
        Probability that an entry is corrupted, in training and in sampling.
    noise
        What corruption does: "salt+pepper" (an entry becomes a fair random bit), "masking" (one half, which tells
        nothing), or "block" (fair bits for whole blocks of variables that are correlated among the parents).
    block_size
        Variables of such a block.
    learning_rate, bias_factor
        Rate for weights; that of biases is learning_rate * bias_factor. None: 24 / n, at most 0.8 (adam: 0.005).
    momentum
        Share of its last update that a weight keeps moving by; biases have none.
    weight_decay
        Shrinks the weights by learning_rate * weight_decay at every update; negative values let them grow.
    optimizer
        "sgd" (plain descent, with momentum) or "adam" (steps of about the learning rate, whatever the gradient, so that
        a rate of 0.01 is large; without momentum).
    init
        How the first weights are drawn: with the standard deviation init_scale ("normal"), or with
        4 sqrt(2 / (inputs + outputs)) of their layer ("glorot").
    init_scale
        Standard deviation of the first parameters; with init "glorot", of drawn biases alone.
    biases
        First biases: drawn like the weights ("normal"), or so that the first reconstruction has the parents' share of
        ones in each variable ("marginals").
    warm_start
        Share of the last generation's parameters that training starts from, the rest being a new draw: 0 from scratch,
        1 from where the last one ended.
    starts
        So many starts are trained for a short while, and the one of the lowest error goes on.
    pretrain
        Epochs in which each of several layers is first trained by itself, on bits drawn from the codes of those below.
    walkback
        So many times each batch is followed by its own reconstruction, corrupted again, with the same aim.
    batch_size
        Rows of a mini-batch; a fifth of the training rows where that is less.
    max_rows
        An epoch takes so many rows at most, drawn anew for each; None: all of them.
    distinct
        Whether an epoch takes as many rows as there are different ones, drawn at random: less where rows repeat.
    validation
        Share of the parents that is not trained on but watched, at most 500 rows.
    overfitting
        Stop when the validation error is more than this share above the training error; None: never.
    gamma
        Stop when the last third of training brought less than this share of all gain.
    check_every, min_epochs, min_updates, max_epochs
        Errors are measured every so many epochs; training lasts at least and at most so long.
    sampling_steps
        Rounds of corruption and reconstruction, s in the paper; "auto": until chains have forgotten their start, or
        forget no more of it, by their autocorrelation, at most 50.
    sampling_start
        Where chains start: at "random" bits, or at "parents".
    temperature
        What logits are divided by in sampling: below 1 samples are nearer to what is likely, above 1 more different.
    binarise
        Whether each round of sampling draws bits, or only the last.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = np.repeat(rng.integers(0, 2, (200, 2), dtype=np.uint8), 5, axis=1)
    >>> DAE().fit(x, rng=rng).sample(3, rng=rng).shape
    (3, 10)
    """

    compiled: ClassVar[bool] = True
    later: ClassVar[Mapping[str, Setting]] = BEFORE_LATER_SETTINGS

    hidden: int | tuple[int, ...] | None = None
    tied: bool = True
    error: Literal["cross-entropy", "squared"] = "cross-entropy"
    corruption: float = 0.03
    learning_rate: float | None = None
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
    max_epochs: int = 50
    sampling_steps: int | Literal["auto"] = 10
    noise: Literal["salt+pepper", "masking", "block"] = "salt+pepper"
    block_size: int = 4
    optimizer: Literal["sgd", "adam"] = "sgd"
    init: Literal["normal", "glorot"] = "normal"
    biases: Literal["normal", "marginals"] = "normal"
    warm_start: float = 0.5
    starts: int = 1
    pretrain: int = 0
    walkback: int = 0
    max_rows: int | None = 500
    distinct: bool = False
    sampling_start: Literal["random", "parents"] = "random"
    temperature: float = 1.0
    binarise: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.hidden, list | tuple):  # one layer in one way, so that it is the same in a file
            object.__setattr__(self, "hidden", self.hidden[0] if len(self.hidden) == 1 else tuple(self.hidden))
        check_network(self)

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
        return cls(**PAPER_2015)

    @classmethod
    def author_2016(cls) -> DAE:
        """Give the settings of the author's later program, but a corruption of 0.05 and no decay (docs/models.md).

        Examples
        --------
        >>> DAE.author_2016().max_epochs
        2000
        """
        return cls(**AUTHOR_2016)

    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> FittedDAE:
        """Train on x, shape (rows, n): from scratch, or from where the last generation ended, as `warm_start` says."""
        return finished(self, train_network(self, x, rng, previous), x, rng)

    def rate(self, n: int) -> float:
        """Give the learning rate for n variables; the more there are, the more go into each hidden unit."""
        return default_rate(self.optimizer, n) if self.learning_rate is None else float(self.learning_rate)

    def widths(self, n: int) -> tuple[int, ...]:
        """Give the variables, and the units of each hidden layer.

        Examples
        --------
        >>> DAE().widths(50), DAE(hidden=(40, 20)).widths(50)
        ((50, 50), (50, 40, 20))
        """
        if self.hidden is None:
            return (n, n)
        return (n, *self.hidden) if isinstance(self.hidden, tuple) else (n, self.hidden)

    def prepare(self) -> None:
        """Compile or load the kernels, for as many layers as there are, so that the clock of a run measures the run."""
        layers = len(self.widths(3)) - 1
        few = {"max_epochs": 1, "max_rows": None, "starts": 1, "pretrain": min(self.pretrain, 1)}
        load_kernels(replace(self, hidden=(3,) * layers, **few))  # type: ignore[arg-type]

    def working_bytes(self, rows: int, n: int) -> int:
        """Give the memory, about, that a fit takes: weights, and noise, also that of drawing rows."""
        return network_bytes(self, rows, n)

    def working_seconds(self, rows: int, n: int) -> float:
        """Give the CPU time, about: five products of rows and weights an epoch, two a step of drawing."""
        return network_seconds(self, rows, n)

    def divide(self, rows: int) -> tuple[int, int, int]:
        """Give how many rows are held out, how many make a batch, and on how many the training error is measured."""
        held_out = min(int(self.validation * rows), _MOST_HELD_OUT)
        return held_out, *self.batch_of(rows - held_out)

    def batch_of(self, rows: int) -> tuple[int, int]:
        """Give how many of the rows of an epoch make a batch, and on how many the training error is measured."""
        batch = max(1, min(self.batch_size, rows // 5))
        return batch, min(3 * batch, rows)

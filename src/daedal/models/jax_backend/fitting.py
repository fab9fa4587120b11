"""Fits on a device: what a program is given, and what is made of its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.models.base import Fitted, check_converged, check_parents
from daedal.models.jax_backend.devices import find_device, within_memory
from daedal.models.jax_backend.epochs import Given, Numbers, Plan
from daedal.models.jax_backend.modules import jax
from daedal.models.jax_backend.network import Layer, Rule
from daedal.models.jax_backend.noise import noise_of
from daedal.models.jax_backend.samples import key_of
from daedal.models.jax_backend.start import layers_of, stack_from, zero_layers
from daedal.models.jax_backend.training import Trained, fit_program
from daedal.models.network_noise import shape_of
from daedal.models.network_samples import FittedDAE
from daedal.models.network_training import SHORT, TrainedNetwork, Training
from daedal.models.training import curve_of
from daedal.settings.checks import check_fits
from daedal.types import Bits

if TYPE_CHECKING:
    from daedal.models.dae import DAE

_MOST_CHECKS = 2**20
WHAT = "the training of the autoencoder"


@dataclass(frozen=True)
class Job:
    """One network to train: for which program, and with what."""

    plan: Plan
    batches: int  # of an epoch
    shape: kernels.noise.NoiseShape
    given: Given


def fit_networks(
    model: DAE, parents: Sequence[Bits], rngs: Sequence[np.random.Generator], previous: Sequence[Fitted | None],
    *, max_epochs: int | None = None,
) -> list[TrainedNetwork]:  # fmt: skip
    """Train a network on each array of parents, shape (rows, n); those that fit into one program side by side.

    With max_epochs, training ends after so many, by the same program as without.
    """
    jobs = [job_of(model, *one) for one in zip(parents, rngs, previous, strict=True)]
    groups: dict[Any, list[int]] = {}
    for i, job in enumerate(jobs):
        groups.setdefault((job.plan, job.batches, job.given.x.shape), []).append(i)
    found: dict[int, TrainedNetwork] = {}
    for group in groups.values():
        together = [jobs[i] for i in group]
        found |= zip(group, _trained(model, together, max_epochs), strict=True)
    return [found[i] for i in range(len(jobs))]


def job_of(model: DAE, x: Bits, rng: np.random.Generator, previous: Fitted | None) -> Job:
    """Say how a network is to be trained on rows x, shape (rows, n), which are shuffled first."""
    rows, n = check_parents(x)
    widths, data = model.widths(n), x[rng.permutation(rows)]
    shape = shape_of(model.noise, data, corruption=model.corruption, length=model.block_size)
    held_out, lessons, watched = Training(model, widths, shape, rng).divided(data)
    noise, noise_numbers = noise_of(shape, model.corruption)
    plan = Plan(
        widths=widths, tied=model.tied, squared=model.error == "squared", adam=model.optimizer == "adam",
        glorot=model.init == "glorot", marginals=model.biases == "marginals", warm=model.warm_start > 0, noise=noise,
        walkback=model.walkback, batch=lessons.batch, watched=len(watched), held_out=len(held_out),
        starts=model.starts, pretrained=model.pretrain > 0, checks=_checks(model), many=False,
    )  # fmt: skip
    known = previous if isinstance(previous, FittedDAE) and previous.widths == widths else None
    old = _old(model, known, widths) if plan.warm else None
    share = np.asarray(np.float32(0 if known is None else model.warm_start))
    return Job(plan, lessons.batches, shape, Given(data, key_of(rng), noise_numbers, old, share))


def _old(model: DAE, known: FittedDAE | None, widths: tuple[int, ...]) -> tuple[Layer, ...]:
    """Give the last generation's parameters; in the first, for the same program, zeros of which nothing is taken."""
    return zero_layers(widths, tied=model.tied) if known is None else layers_of(known.stack, widths)


def _checks(model: DAE) -> int:
    checks = -(-model.max_epochs // model.check_every)
    if checks > _MOST_CHECKS:
        raise ValueError(
            f"expected at most {_MOST_CHECKS:,} measurements of the error with backend=jax, got max_epochs="
            f"{model.max_epochs} and check_every={model.check_every}; set a larger check_every"
        )
    return checks


def _trained(model: DAE, jobs: list[Job], max_epochs: int | None) -> list[TrainedNetwork]:
    """Train jobs of one kind side by side; one alone has no axis of networks."""
    first, many, device = jobs[0], len(jobs) > 1, find_device(model.device)
    rows, n = first.given.x.shape
    model.check_memory(rows, n)
    needed = len(jobs) * model.working_bytes(rows, n)
    check_fits(needed, f"training {len(jobs):,} networks of n={n:,} at once", advice="train fewer at a time")
    numbers = numbers_of(model, n, first.batches, max_epochs)
    program = fit_program(first.plan._replace(many=many))
    given = [job.given for job in jobs]
    with within_memory(device, WHAT):
        together = jax.tree.map(lambda *arrays: np.stack(arrays), *given) if many else given[0]
        found: Trained = jax.device_get(program(*jax.device_put((numbers, together), device)))
    each = [jax.tree.map(lambda array, i=i: array[i], found) for i in range(len(jobs))] if many else [found]
    return [_read(model, job, one) for job, one in zip(jobs, each, strict=True)]


def numbers_of(model: DAE, n: int, batches: int, max_epochs: int | None) -> Numbers:
    """Give the numbers of a training with so many batches an epoch; with max_epochs, one that ends after so many."""
    rate, few = model.rate(n), max_epochs is not None
    return Numbers(
        rule=Rule(*map(_real, (rate, rate * model.bias_factor, model.momentum, 1.0 - rate * model.weight_decay))),
        batches=_whole(batches),
        check_every=_whole(min(model.check_every, model.max_epochs)),
        min_epochs=_whole(max(model.min_epochs, -(-model.min_updates // batches))),
        max_epochs=_whole(model.max_epochs if max_epochs is None else max_epochs),
        short=_whole(1 if few else SHORT * model.check_every),
        pretrain=_whole(1 if few else model.pretrain),
        gamma=_real(model.gamma),
        overfitting=_real(np.inf if model.overfitting is None else model.overfitting),
        init_scale=_real(model.init_scale),
    )


def _whole(value: int) -> NDArray[np.int32]:
    return np.asarray(min(value, 2**31 - 1), dtype=np.int32)


def _real(value: float) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # inf, with which training diverges, which is said
        return np.asarray(value, dtype=np.float32)


def _read(model: DAE, job: Job, found: Trained) -> TrainedNetwork:
    for values in (found.error, *jax.tree.leaves(found.layers)):
        check_converged(values, "the autoencoder", model.rate(job.given.x.shape[1]))
    epochs = int(found.epochs)
    info: dict[str, float] = {"epochs": epochs, "error": float(found.error)}
    if job.plan.held_out:
        info["validation_error"] = float(found.lowest)
    errors = found.train[: -(-epochs // model.check_every)].tolist()
    curve = curve_of(errors, every=model.check_every, last=epochs)
    return TrainedNetwork(stack_from(found.layers, job.plan.widths), info, job.shape, curve)

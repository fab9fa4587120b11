"""What every model must do, as functions of a model that raise where it does not."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Callable

import numpy as np
import pytest

import daedal
from daedal.models.base import Fitted, Model
from daedal.types import Bits


def parents(rows: int = 60, n: int = 12, seed: int = 0) -> Bits:
    """Blocks of three equal bits, some of them disturbed: something to learn."""
    rng = np.random.default_rng(seed)
    x = np.repeat(rng.integers(0, 2, (rows, -(-n // 3)), dtype=np.uint8), 3, axis=1)[:, :n]
    return np.ascontiguousarray(x ^ (rng.random(x.shape) < 0.05).astype(np.uint8))


def fit(model: Model, x: Bits, seed: int = 1, previous: Fitted | None = None) -> Fitted:
    return model.fit(x, rng=np.random.default_rng(seed), previous=previous)


def sample(fitted: Fitted, rows: int = 40, seed: int = 2) -> Bits:
    return fitted.sample(rows, rng=np.random.default_rng(seed))


def check_rows(rows: Bits, count: int, n: int) -> None:
    assert isinstance(rows, np.ndarray)
    assert rows.shape == (count, n)
    assert rows.dtype == np.uint8
    assert rows.flags.c_contiguous
    assert rows.max(initial=0) <= 1


def digest(model: Model) -> str:
    """Fit and sample through two generations; give a fingerprint of every bit drawn."""
    first = fit(model, parents())
    rows = sample(first)
    again = sample(fit(model, rows, seed=3, previous=first), seed=4)
    return hashlib.sha256(rows.tobytes() + again.tobytes()).hexdigest()


# The contract


def samples_are_rows_of_bits(model: Model) -> None:
    fitted = fit(model, parents())
    assert isinstance(fitted, Fitted)
    for count in (0, 1, 2, 40, 600):
        check_rows(sample(fitted, count), count, 12)


def rows_depend_on_the_streams_alone(model: Model) -> None:
    fitted = fit(model, parents())
    assert np.array_equal(sample(fitted), sample(fit(model, parents())))
    assert not np.array_equal(sample(fitted, seed=2), sample(fitted, seed=3))


def sampling_changes_nothing(model: Model) -> None:
    fitted = fit(model, parents())
    before = sample(fitted)
    sample(fitted, 7, seed=9)
    before_was = before.copy()
    assert np.array_equal(sample(fitted), before)
    assert np.array_equal(before, before_was)  # rows given out are the caller's own


def fitting_leaves_its_input_alone(model: Model) -> None:
    x = parents()
    kept = x.copy()
    fitted = fit(model, x)
    assert np.array_equal(x, kept)
    expected = sample(fitted)
    x ^= 1  # and the fit does not look at it later
    assert np.array_equal(sample(fitted), expected)


def the_layout_of_the_parents_does_not_matter(model: Model) -> None:
    expected = sample(fit(model, parents()))
    assert np.array_equal(sample(fit(model, np.asfortranarray(parents()))), expected)
    assert np.array_equal(sample(fit(model, np.repeat(parents(), 2, axis=0)[::2])), expected)


def fitting_leaves_the_previous_fit_alone(model: Model) -> None:
    first = fit(model, parents())
    expected = sample(first)
    following = fit(model, parents(seed=5), previous=first)
    sample(following)
    assert np.array_equal(sample(first), expected)


def any_parents_are_fine(model: Model) -> None:
    """Few of them, few variables, more variables than parents, the same ones again, columns that do not vary."""
    shapes = [(1, 12), (2, 12), (3, 12), (7, 12), (1, 1), (50, 1), (1, 2), (50, 2), (1, 3), (50, 3), (10, 70)]
    cases = [parents(rows=rows, n=n) for rows, n in shapes]
    cases.append(np.repeat(parents(rows=2), 20, axis=0))
    for constant in (0, 1):
        partly = parents()
        partly[:, [0, 5, 11]] = constant
        cases += [partly, np.full((30, 12), constant, dtype=np.uint8)]
    for x in cases:
        check_rows(sample(fit(model, x)), 40, x.shape[1])


def info_is_numbers_by_name(model: Model) -> None:
    info = fit(model, parents()).info
    assert all(isinstance(name, str) for name in info)
    assert all(isinstance(number, float | int) and math.isfinite(number) for number in info.values())
    json.dumps(dict(info), allow_nan=False)


def what_it_says_of_pairs_is_a_matrix_that_shows_who_agrees(model: Model) -> None:
    """Two variables of three are copies of each other: whoever has a view of pairs sees it."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2, (1000, 3), dtype=np.uint8)
    x = x[:, [0, 1, 0, 2]]
    fitted = fit(model, x)
    linkage = fitted.linkage()
    if linkage is None:
        assert fitted.linkage_source == ""
        return
    assert linkage.shape == (4, 4)
    assert linkage.dtype == np.float64
    assert np.isfinite(linkage).all()
    assert (linkage == linkage.T).all()
    assert linkage.min() >= 0 == np.diagonal(linkage).max()
    assert np.unravel_index(np.argmax(linkage), (4, 4)) == (0, 2)
    assert fitted.linkage_source


def training_is_told_with_its_epochs(model: Model) -> None:
    fitted = fit(model, parents())
    curve = fitted.curve()
    assert (curve is None) == ("epochs" not in fitted.info)
    if curve is not None:
        assert len(curve.epochs) == len(curve.errors) > 1
        assert (np.diff(curve.epochs) > 0).all()
        assert curve.epochs[-1] == fitted.info["epochs"]
        assert np.isfinite(curve.errors).all()


def hyperparameters_are_frozen_and_can_be_printed(model: Model) -> None:
    assert dataclasses.replace(model) == model
    assert hash(dataclasses.replace(model)) == hash(model)
    json.dumps(dataclasses.asdict(model), allow_nan=False)
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.anything = 1  # type: ignore[attr-defined]


def nothing_is_drawn_from_the_global_generator(model: Model) -> None:
    before = np.random.get_state()[1].tolist()  # noqa: NPY002  to see that nobody uses it
    sample(fit(model, parents()))
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def runs_in_the_loop(model: Model) -> None:
    result = daedal.maximize("onemax:n=8", algorithm=model, popsize=20, seed=1, max_generations=4)
    assert daedal.problems.OneMax(n=8).evaluate(result.x[None])[0] == result.fitness


CHECKS: list[Callable[[Model], None]] = [
    samples_are_rows_of_bits,
    rows_depend_on_the_streams_alone,
    sampling_changes_nothing,
    fitting_leaves_its_input_alone,
    the_layout_of_the_parents_does_not_matter,
    fitting_leaves_the_previous_fit_alone,
    any_parents_are_fine,
    info_is_numbers_by_name,
    what_it_says_of_pairs_is_a_matrix_that_shows_who_agrees,
    training_is_told_with_its_epochs,
    hyperparameters_are_frozen_and_can_be_printed,
    nothing_is_drawn_from_the_global_generator,
    runs_in_the_loop,
]

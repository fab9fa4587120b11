"""Networks of several layers against a slow twin in float64, given the same words, and against finite differences."""

from __future__ import annotations

import kernels_helpers as twin
import numpy as np
import pytest
from deep_twin import DeepNet, assert_same_stack, draw_deep, make_works, slow_train, to_stack

from daedal.kernels import dae, network
from daedal.kernels.tiles import LANES

WIDTHS = [(5, 4), (9, 7, 3), (8, 10, 6), (20, 31, 9, 4), (twin.BLAS, 12, 5), (12, twin.BLAS, 7)]
"""One layer and more, narrower and wider than what is below, by tiles and by BLAS."""


def kernel_gradient(net: DeepNet, x: twin.Floats, corrupted: twin.Floats, squared: bool) -> tuple[dae.Gradient, ...]:
    stack, works = to_stack(net), make_works(net, len(x))
    works[0].inputs[: len(x), : x.shape[1]] = corrupted
    gradients = tuple(map(dae.zero_gradient, stack))
    network.keep_transposes(net.tied, stack, works)
    network.batch_gradient(
        twin.pad(x), np.arange(len(x)), net.tied, squared, np.float32(0), stack, net.widths, works, gradients
    )
    return gradients


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("widths", WIDTHS)
def test_batch_gradient_and_error(widths: tuple[int, ...], tied: bool, squared: bool) -> None:
    net, x = draw_deep(widths, tied=tied), twin.draw_bits(13, widths[0])
    corrupted = twin.slow_corrupt(x, twin.draw_words(x.size), 2**13)
    expected = net.gradient(x, corrupted, squared)
    assert_same_stack(kernel_gradient(net, x, corrupted, squared), expected, 13 * len(widths) * twin.LAYER)
    args = (twin.pad(x), twin.pad(corrupted, np.float32), squared, to_stack(net), widths, make_works(net, 5))
    assert network.mean_error(*args) == pytest.approx(net.error(x, corrupted, squared) / 13, rel=1e-5)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("widths", [(6, 5, 3), (5, 7, 4, 3)])
def test_gradient_against_finite_differences_of_the_error(widths: tuple[int, ...], tied: bool, squared: bool) -> None:
    """Each of all parameters moved both ways by 1e-5: in float64 the difference is right to about 1e-9."""
    net, x = draw_deep(widths, tied=tied), twin.draw_bits(12, widths[0])
    corrupted = twin.slow_corrupt(x, twin.draw_words(x.size), 2**13)
    found = kernel_gradient(net, x, corrupted, squared)
    for k, layer in enumerate(net.layers):
        for name, values in layer.arrays().items():
            for at in np.ndindex(values.shape):
                middle, errors = values[at], []
                for step in (1e-5, -1e-5):
                    values[at] = middle + step
                    errors.append(net.error(x, corrupted, squared))
                values[at] = middle
                slope = (errors[0] - errors[1]) / 2e-5
                assert getattr(found[k], name)[at] == pytest.approx(slope, rel=1e-5, abs=24 * twin.LAYER), (k, name, at)


RULES = {
    "momentum and decay": twin.Rule(rate=0.1, bias_rate=0.7, momentum=0.3, keep=0.998),
    "adam": twin.Rule(rate=0.01, bias_rate=0.02, adam=True, momentum=0.7),
    "adam with decay": twin.Rule(rate=0.01, bias_rate=0.02, adam=True, keep=0.99),
}


def check_training(widths: tuple[int, ...], tied: bool, rule: twin.Rule, walkback: int = 0, used: int = 23) -> None:
    rows, batch, epochs, n = 23, 5, 3, widths[0]
    net, x = draw_deep(widths, tied=tied, scale=1.0), twin.draw_bits(rows, n)
    swaps = twin.draw_words(epochs * rows, 32)
    noise = twin.draw_words(epochs * used * (1 + walkback) * n + LANES)
    stack, works = to_stack(net), make_works(net, batch, walkback=walkback > 0)
    gradients, before = tuple(map(dae.zero_gradient, stack)), net.layers[0].encoder.copy()
    updates = twin.train(
        stack, widths, works, gradients, twin.pad(x), np.arange(rows), swaps, noise, batch, tied, False, rule,
        walkback=walkback, used=used,
    )  # fmt: skip
    slow_train(net, x, swaps, noise, batch, twin.limit_of(0.1), rule, walkback=walkback, used=used)
    assert updates == epochs * (used // batch) * (1 + walkback)
    assert np.abs(net.layers[0].encoder - before).max() > 1e-3, "nothing was learned, so nothing is compared"
    # Adam divides by small deviations, which makes more of a rounding.
    assert_same_stack(stack, net.layers, twin.LAYER * updates * len(widths) * (100 if rule.adam else 1))
    for theta in stack:
        if max(theta.decoder.shape) < twin.BLAS:
            assert (theta.decoder_t == theta.decoder.T).all()


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("widths", WIDTHS)
def test_train(widths: tuple[int, ...], tied: bool, rule: twin.Rule) -> None:
    check_training(widths, tied, rule)


@pytest.mark.parametrize("used", [5, 12])
@pytest.mark.parametrize("tied", [True, False])
def test_an_epoch_of_some_of_the_rows(tied: bool, used: int) -> None:
    check_training((9, 7), tied, RULES["momentum and decay"], used=used)


@pytest.mark.parametrize("walkback", [1, 3])
@pytest.mark.parametrize("widths", [(9, 7), (9, 7, 3)])
def test_walkback_trains_on_reconstructions(widths: tuple[int, ...], walkback: int) -> None:
    check_training(widths, True, RULES["momentum and decay"], walkback=walkback)

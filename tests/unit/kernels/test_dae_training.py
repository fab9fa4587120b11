"""The autoencoder's training against slow twins in float64, given the same words, and against finite differences."""

from __future__ import annotations

import kernels_helpers as twin
import numpy as np
import pytest

from daedal.kernels import dae, network
from daedal.kernels.tiles import LANES


def kernel_gradient(
    net: twin.Net, x: twin.Floats, corrupted: twin.Floats, squared: bool, *, spare: int = 0
) -> dae.Gradient:
    """Run one batch, in a workspace with some rows to spare."""
    n, m = net.encoder.shape
    theta, tied = twin.to_parameters(net), net.decoder is net.encoder
    work = dae.make_workspace(n, m, len(x) + spare, 0.1)
    work.inputs[: len(x), :n] = corrupted
    gradient = dae.zero_gradient(theta)
    # Rows of x in another order, so that a kernel that overlooks it is found out.
    order = np.random.default_rng(5).permutation(len(x))
    shuffled = np.zeros_like(x)
    shuffled[order] = x
    shuffled, nothing = twin.pad(shuffled), np.float32(0)
    network.batch_gradient(shuffled, order, tied, squared, nothing, (theta,), (n, m), (work,), (gradient,))
    return gradient


@pytest.mark.parametrize("rows", [1, 10, 53])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("n", "m"), twin.SHAPES)
def test_batch_gradient(n: int, m: int, tied: bool, squared: bool, rows: int) -> None:
    net, x = twin.draw_net(n, m, tied=tied), twin.draw_bits(rows, n)
    corrupted = twin.slow_corrupt(x, twin.draw_words(x.size), 2**13)
    expected = net.gradient(x, corrupted, squared)
    twin.assert_same(kernel_gradient(net, x, corrupted, squared), expected, rows * twin.LAYER)
    twin.assert_same(kernel_gradient(net, x, corrupted, squared, spare=3), expected, rows * twin.LAYER)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("n", "m"), [(5, 4), (9, 7), (8, 10)])
def test_gradient_against_finite_differences_of_the_error(n: int, m: int, tied: bool, squared: bool) -> None:
    """Each of all parameters moved both ways by 1e-5: in float64 the difference is right to about 1e-9."""
    net, x = twin.draw_net(n, m, tied=tied, seed=n), twin.draw_bits(12, n)
    corrupted = twin.slow_corrupt(x, twin.draw_words(x.size), 2**13)
    got = kernel_gradient(net, x, corrupted, squared)
    for name, values in net.arrays().items():
        for at in np.ndindex(values.shape):
            middle, errors = values[at], []
            for step in (1e-5, -1e-5):
                values[at] = middle + step
                errors.append(net.error(x, corrupted, squared))
            values[at] = middle
            slope = (errors[0] - errors[1]) / 2e-5
            assert getattr(got, name)[at] == pytest.approx(slope, rel=1e-5, abs=12 * twin.LAYER), (name, at)


def kernel_train(
    net: twin.Net,
    x: twin.Floats,
    swaps: twin.Floats,
    noise: twin.Floats,
    batch: int,
    corruption: float,
    squared: bool,
    rule: twin.Rule,
) -> tuple[dae.Parameters, twin.Floats, dae.Gradient]:
    (rows, n), m = x.shape, net.hidden_bias.size
    theta, tied = twin.to_parameters(net), net.decoder is net.encoder
    gradient, order = dae.zero_gradient(theta), np.arange(rows)
    work, data = dae.make_workspace(n, m, batch, corruption), twin.pad(x)
    twin.train((theta,), (n, m), (work,), (gradient,), data, order, swaps, noise, batch, tied, squared, rule)
    assert (data == twin.pad(x)).all(), "training touches the rows"
    return theta, order, gradient


def check_training(
    n: int, m: int, rows: int, batch: int, epochs: int, tied: bool, squared: bool, rule: twin.Rule
) -> None:
    net, x = twin.draw_net(n, m, tied=tied, scale=0.3), twin.draw_bits(rows, n)
    swaps, noise = twin.draw_words(epochs * rows, 32), twin.draw_words(epochs * rows * n + LANES)
    theta, order, gradient = kernel_train(net, x, swaps, noise, batch, 0.1, squared, rule)
    before = net.encoder.copy()
    expected_order, velocity = twin.slow_train(net, x, swaps, noise, batch, twin.limit_of(0.1), squared, rule)
    assert order.tolist() == expected_order
    assert np.abs(net.encoder - before).max() > 5e-4, "nothing was learned, so nothing is compared"
    # Every update adds about one rounding of a layer.
    tolerance = twin.LAYER * max(1, epochs * (rows // batch))
    twin.assert_same(theta, net, tolerance)
    if max(n, m) < twin.BLAS:  # twin.BLAS needs no transpose
        assert (theta.decoder_t == theta.decoder.T).all()
    np.testing.assert_allclose(gradient.encoder[:n, :m], velocity["encoder"], rtol=0, atol=batch * tolerance)


RULES = {
    "plain": twin.Rule(),
    "momentum": twin.Rule(momentum=0.6),
    "decay": twin.Rule(keep=0.99),
    "growth": twin.Rule(keep=1.0002),
    "all": twin.Rule(rate=0.1, bias_rate=0.7, momentum=0.3, keep=0.998),
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("tied", [True, False])
def test_train_by_every_rule(tied: bool, squared: bool, rule: twin.Rule) -> None:
    check_training(20, 13, 47, 10, 4, tied, squared, rule)


@pytest.mark.parametrize(("n", "m"), twin.SHAPES)
def test_train_every_shape(n: int, m: int) -> None:
    check_training(n, m, 23, 5, 3, True, False, RULES["all"])
    check_training(n, m, 23, 5, 3, False, False, RULES["all"])


@pytest.mark.parametrize(("rows", "batch"), [(1, 1), (6, 1), (12, 12), (12, 7), (101, 50)])
def test_train_with_every_kind_of_batch(rows: int, batch: int) -> None:
    check_training(9, 6, rows, batch, 3, True, False, RULES["momentum"])


def test_training_in_pieces_is_training_in_one() -> None:
    net, x, rule = twin.draw_net(12, 12, tied=True), twin.draw_bits(30, 12), RULES["all"]
    swaps, noise = twin.draw_words(6 * 30, 32), twin.draw_words(6 * 30 * 12 + LANES)
    whole, whole_order, _ = kernel_train(net, x, swaps, noise, 7, 0.1, False, rule)
    theta, order = twin.to_parameters(net), np.arange(30)
    gradient, work = dae.zero_gradient(theta), dae.make_workspace(12, 12, 7, 0.1)
    for first, last in ((0, 1), (1, 4), (4, 6)):
        net_of = ((theta,), (12, 12), (work,))
        words = (swaps[first * 30 : last * 30], noise[first * 360 :])
        twin.train(*net_of, (gradient,), twin.pad(x), order, *words, 7, True, False, rule)
        network.mean_error(twin.pad(x), twin.pad(x, np.float32), False, *net_of)  # as a fit does in between
    assert order.tolist() == whole_order.tolist()
    for name in dae.Parameters._fields:
        assert (getattr(theta, name) == getattr(whole, name)).all(), name

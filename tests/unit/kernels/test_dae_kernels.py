"""The autoencoder's kernels against slow, obvious twins in float64, given the same words."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import expit

from daedal.kernels import dae
from daedal.kernels.products import TILED_UP_TO, padded
from daedal.kernels.tiles import LANES

# One float32 layer is off by the stated 4e-7 of the logistic and some roundings of sums of n terms of size 1.
LAYER = 3e-6
# Width below and above a vector, at a whole number of them, beyond one logarithm's 32 bits, and on the side of BLAS.
BLAS = TILED_UP_TO + 1
SHAPES = [(1, 1), (5, 4), (8, 8), (9, 17), (34, 20), (64, 64), (256, 130), (BLAS, 20), (20, BLAS)]

Floats = np.ndarray


# --- The twins. -----------------------------------------------------------------------------------------------------


@dataclass
class Net:
    """Theta without padding, in float64; tied weights are one array."""

    encoder: Floats  # (n, m)
    decoder: Floats  # (n, m)
    hidden_bias: Floats
    output_bias: Floats

    def arrays(self) -> dict[str, Floats]:
        names = ["encoder", "hidden_bias", "output_bias"]
        return {name: getattr(self, name) for name in names + ["decoder"] * (self.decoder is not self.encoder)}

    def hidden(self, x: Floats) -> Floats:
        return expit(x @ self.encoder + self.hidden_bias)

    def reconstruct(self, x: Floats) -> Floats:
        return expit(self.hidden(x) @ self.decoder.T + self.output_bias)

    def error(self, x: Floats, corrupted: Floats, squared: bool) -> float:
        """Err(x, z), summed over rows and bits."""
        z = self.reconstruct(corrupted)
        if squared:
            return float(((z - x) ** 2).sum())
        right = np.where(x == 1, z, 1 - z)
        return float(-np.log(np.maximum(right, dae.SMALLEST_PROBABILITY)).sum())

    def gradient(self, x: Floats, corrupted: Floats, squared: bool) -> Net:
        h = self.hidden(corrupted)
        z = expit(h @ self.decoder.T + self.output_bias)
        output = (z - x) * (2 * z * (1 - z) if squared else 1)
        hidden = output @ self.decoder * h * (1 - h)
        encoder, decoder = corrupted.T @ hidden, output.T @ h
        if self.decoder is self.encoder:
            encoder = decoder = encoder + decoder
        return Net(encoder, decoder, hidden.sum(axis=0), output.sum(axis=0))


def slow_shuffle(order: list[int], words: list[int]) -> list[int]:
    order = list(order)
    for i in reversed(range(1, len(order))):
        j = words[i] * (i + 1) // 2**32
        order[i], order[j] = order[j], order[i]
    return order


def slow_corrupt(x: Floats, words: Floats, limit: int) -> Floats:
    """Replace entry k, counted row by row, where word k is below the limit."""
    words = words[: x.size].astype(np.int64).reshape(x.shape)
    return np.where(words < limit, words % 2, x)


@dataclass
class Rule:
    """How the weights are changed."""

    rate: float = 0.2
    bias_rate: float = 0.5
    momentum: float = 0.0
    keep: float = 1.0


def slow_train(net: Net, x: Floats, swaps: Floats, noise: Floats, batch: int, limit: int, squared: bool, rule: Rule):
    """Train in place; give the order of the rows that the last epoch had, and the weights' velocity."""
    rows, n = x.shape
    order = list(range(rows))
    velocity = {"encoder": np.zeros_like(net.encoder), "decoder": np.zeros_like(net.encoder)}
    for epoch in range(swaps.size // rows):
        order = slow_shuffle(order, swaps[epoch * rows : (epoch + 1) * rows].tolist())
        for first in range(0, rows // batch * batch, batch):
            chosen = x[order[first : first + batch]].astype(float)
            corrupted = slow_corrupt(chosen, noise[(epoch * rows + first) * n :], limit)
            gradient = net.gradient(chosen, corrupted, squared)
            for name in ["encoder"] + ["decoder"] * (net.decoder is not net.encoder):
                velocity[name] = rule.momentum * velocity[name] + getattr(gradient, name)
                weights = getattr(net, name)
                weights[...] = rule.keep * weights - rule.rate / batch * velocity[name]
            net.hidden_bias -= rule.bias_rate / batch * gradient.hidden_bias
            net.output_bias -= rule.bias_rate / batch * gradient.output_bias
    return order, velocity


def slow_sample(net: Net, start: Floats, noise: Floats, steps: int, limit: int) -> Floats:
    """Give the probabilities after the last step."""
    z = (start % 2).astype(float)
    for step in range(steps):
        z = net.reconstruct(slow_corrupt(z, noise[step * z.size :], limit))
    return z


# --- From the twins to the kernels and back. ------------------------------------------------------------------------


def draw_net(n: int, m: int, *, tied: bool, seed: int = 0, scale: float = 1.0) -> Net:
    """Draw weights at which the layers are neither flat nor saturated, whatever their widths."""
    rng = np.random.default_rng(seed)

    def draw(*shape: int) -> Floats:
        return rng.standard_normal(shape).astype(np.float32).astype(np.float64)

    encoder = (draw(n, m) * scale / np.sqrt(max(n, m))).astype(np.float32).astype(np.float64)
    decoder = encoder if tied else (draw(n, m) * scale / np.sqrt(max(n, m))).astype(np.float32).astype(np.float64)
    return Net(encoder, decoder, draw(m), draw(n))


def to_parameters(net: Net) -> dae.Parameters:
    n, m = net.encoder.shape
    theta = dae.zero_parameters(n, m, tied=net.decoder is net.encoder)
    theta.encoder[:n, :m] = net.encoder
    theta.decoder[:n, :m] = net.decoder
    theta.decoder_t[...] = theta.decoder.T
    theta.hidden_bias[:m] = net.hidden_bias
    theta.output_bias[:n] = net.output_bias
    return theta


def assert_same(theta: dae.Parameters | dae.Gradient, net: Net, tolerance: float) -> None:
    """Compare every parameter, and refuse anything but zero in the padding."""
    n, m = net.encoder.shape
    for name, expected in net.arrays().items():
        got = getattr(theta, name)
        size = {"hidden_bias": (m,), "output_bias": (n,)}.get(name, (n, m))
        real = tuple(slice(0, k) for k in size)
        np.testing.assert_allclose(got[real], expected, rtol=tolerance, atol=tolerance, err_msg=name)
        padding = got.copy()
        padding[real] = 0
        assert not padding.any(), f"padding of {name}"


def pad(x: Floats, dtype: type = np.uint8) -> Floats:
    out = np.zeros((len(x), padded(x.shape[1])), dtype=dtype)
    out[:, : x.shape[1]] = x
    return out


def draw_bits(rows: int, n: int, seed: int = 1) -> Floats:
    return np.random.default_rng(seed).integers(0, 2, (rows, n), dtype=np.uint8)


def draw_words(count: int, bits: int = 16, seed: int = 2) -> Floats:
    return np.random.default_rng(seed).integers(0, 2**bits, count, dtype=f"uint{bits}")


def limit_of(corruption: float) -> int:
    return int(dae.make_workspace(1, 1, 1, corruption).limits[0])


# --- Shuffling and corruption. --------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 2, 7, 100])
def test_shuffle(size: int) -> None:
    order, words = np.arange(size), draw_words(size, 32)
    dae.shuffle(order, words)
    assert order.tolist() == slow_shuffle(list(range(size)), words.tolist())
    assert sorted(order.tolist()) == list(range(size))


def test_shuffle_reaches_every_order_by_equally_many_words() -> None:
    # Of the 2^32 words, those from j/(i+1) to (j+1)/(i+1) of them choose j. First and last of each range, all ranges:
    seen = {"first": set(), "last": set()}
    for js in itertools.product(range(2), range(3), range(4)):
        first = [0] + [-(-j * 2**32 // (i + 1)) for i, j in enumerate(js, start=1)]
        last = [0] + [-(-(j + 1) * 2**32 // (i + 1)) - 1 for i, j in enumerate(js, start=1)]
        for name, words in (("first", first), ("last", last)):
            order = np.arange(4)
            dae.shuffle(order, np.array(words, dtype=np.uint32))
            seen[name].add(tuple(order.tolist()))
    assert len(seen["first"]) == len(seen["last"]) == 24


@pytest.mark.parametrize("corruption", [0.0, 0.05, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("n", [1, 7, 8, 9, 20, 64, 300])
def test_corrupt_bits(n: int, corruption: float) -> None:
    x, words = draw_bits(30, n), draw_words(11 * n + LANES)
    order = np.random.default_rng(0).permutation(30)[:11]
    out = np.zeros((11, padded(n)), dtype=np.float32)
    out[:, :n] = 7
    limits = dae.make_workspace(n, 3, 1, corruption).limits
    dae.corrupt_bits(pad(x), order, words, n, limits, out)
    assert out[:, :n].tolist() == slow_corrupt(x[order], words, limit_of(corruption)).tolist()
    assert not out[:, n:].any()


@pytest.mark.parametrize("corruption", [0.0, 0.05, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("n", [1, 7, 8, 9, 20, 64, 300])
def test_corrupt_values(n: int, corruption: float) -> None:
    z, words = np.random.default_rng(3).random((11, n), dtype=np.float32), draw_words(11 * n + LANES)
    out = np.zeros((11, padded(n)), dtype=np.float32)
    out[:, :n] = 7
    limits = dae.make_workspace(n, 3, 1, corruption).limits
    dae.corrupt_values(pad(z, np.float32), words, n, limits, out)
    assert out[:, :n].tolist() == slow_corrupt(z, words, limit_of(corruption)).tolist()
    assert not out[:, n:].any()


@pytest.mark.parametrize("corruption", [0.0, 1e-4, 0.05, 0.1, 1 / 3, 0.5, 0.999, 1.0])
def test_of_all_words_the_right_share_corrupts_and_half_of_it_to_one(corruption: float) -> None:
    words = np.arange(2**16, dtype=np.uint16)
    limits = dae.make_workspace(8, 3, 1, corruption).limits
    out = {}
    for bit in (0, 1):
        x = np.full((2**13, 8), bit, dtype=np.uint8)
        out[bit] = np.zeros((2**13, 8), dtype=np.float32)
        dae.corrupt_bits(x, np.arange(2**13), words, 8, limits, out[bit])
    to_one, to_zero = int(out[0].sum()), int((1 - out[1]).sum())
    assert to_one == to_zero
    assert abs((to_one + to_zero) / 2**16 - corruption) <= 2**-16


# --- Single layers. -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [1, 7, 8, 20, 64, 300])
def test_activate(m: int) -> None:
    a = 5 * np.random.default_rng(0).standard_normal((13, m)).astype(np.float32)
    out = pad(a, np.float32)
    dae.activate(out, m, dae.make_workspace(3, m, 1, 0.1).live_hidden)
    np.testing.assert_allclose(out[:, :m], expit(a.astype(np.float64)), rtol=0, atol=4e-7)
    assert not out[:, m:].any()


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("n", [1, 7, 8, 20, 64, 300])
def test_output_error(n: int, squared: bool) -> None:
    a = 3 * np.random.default_rng(0).standard_normal((13, n)).astype(np.float32)
    x, order = draw_bits(30, n), np.random.default_rng(1).permutation(30)[:13]
    out, total = pad(a, np.float32), np.full(padded(n), 7, dtype=np.float32)
    dae.output_error(out, pad(x), order, n, squared, dae.make_workspace(n, 3, 1, 0.1).live_output, total)
    z = expit(a.astype(np.float64))
    expected = (z - x[order]) * (2 * z * (1 - z) if squared else 1)
    np.testing.assert_allclose(out[:, :n], expected, rtol=0, atol=2e-6)
    np.testing.assert_allclose(total[:n], expected.sum(axis=0), rtol=0, atol=13 * 2e-6)
    assert not out[:, n:].any()
    assert not total[n:].any()


@pytest.mark.parametrize("m", [1, 7, 8, 20, 64, 300])
def test_hidden_error(m: int) -> None:
    rng = np.random.default_rng(0)
    d, h = rng.standard_normal((13, m)).astype(np.float32), rng.random((13, m), dtype=np.float32)
    out, total = pad(d, np.float32), np.full(padded(m), 7, dtype=np.float32)
    dae.hidden_error(out, pad(h, np.float32), m, total)
    expected = d.astype(np.float64) * h * (1 - h.astype(np.float64))
    np.testing.assert_allclose(out[:, :m], expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(total[:m], expected.sum(axis=0), rtol=0, atol=13e-6)
    assert not out[:, m:].any()
    assert not total[m:].any()


# --- The gradient of a batch. ---------------------------------------------------------------------------------------


def kernel_gradient(
    net: Net, x: Floats, corrupted: Floats, squared: bool, *, momentum: float = 0.0, before: float = 0.0, spare: int = 0
) -> dae.Gradient:
    """Run one batch, in a workspace with some rows to spare, on a gradient that was `before` in every real entry."""
    n, m = net.encoder.shape
    theta, tied = to_parameters(net), net.decoder is net.encoder
    work = dae.make_workspace(n, m, len(x) + spare, 0.1)
    work.inputs[: len(x), :n] = corrupted
    gradient = dae.zero_gradient(theta)
    for weights in (gradient.encoder, gradient.decoder):
        weights[:n, :m] = before
    # Rows of x in another order, so that a kernel that overlooks it is found out.
    order = np.random.default_rng(5).permutation(len(x))
    shuffled = np.zeros_like(x)
    shuffled[order] = x
    dae.batch_gradient(pad(shuffled), order, n, m, tied, squared, np.float32(momentum), theta, gradient, work)
    return gradient


@pytest.mark.parametrize("rows", [1, 10, 53])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_batch_gradient(n: int, m: int, tied: bool, squared: bool, rows: int) -> None:
    net, x = draw_net(n, m, tied=tied), draw_bits(rows, n)
    corrupted = slow_corrupt(x, draw_words(x.size), 2**13)
    expected = net.gradient(x, corrupted, squared)
    assert_same(kernel_gradient(net, x, corrupted, squared), expected, rows * LAYER)
    assert_same(kernel_gradient(net, x, corrupted, squared, spare=3), expected, rows * LAYER)


@pytest.mark.parametrize("tied", [True, False])
def test_momentum_keeps_a_share_of_the_weights_gradient_and_nothing_of_the_biases(tied: bool) -> None:
    net, x = draw_net(20, 9, tied=tied), draw_bits(10, 20)
    expected = net.gradient(x, x, False)
    expected.encoder += 0.3 * 5
    if not tied:
        expected.decoder += 0.3 * 5
    assert_same(kernel_gradient(net, x, x, False, momentum=0.3, before=5.0), expected, 10 * LAYER)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("n", "m"), [(5, 4), (9, 7), (8, 10)])
def test_gradient_against_finite_differences_of_the_error(n: int, m: int, tied: bool, squared: bool) -> None:
    """Each of all parameters moved both ways by 1e-5: in float64 the difference is right to about 1e-9."""
    net, x = draw_net(n, m, tied=tied, seed=n), draw_bits(12, n)
    corrupted = slow_corrupt(x, draw_words(x.size), 2**13)
    got = kernel_gradient(net, x, corrupted, squared)
    for name, values in net.arrays().items():
        for at in np.ndindex(values.shape):
            middle, errors = values[at], []
            for step in (1e-5, -1e-5):
                values[at] = middle + step
                errors.append(net.error(x, corrupted, squared))
            values[at] = middle
            slope = (errors[0] - errors[1]) / 2e-5
            assert getattr(got, name)[at] == pytest.approx(slope, rel=1e-5, abs=12 * LAYER), (name, at)


# --- Training. ------------------------------------------------------------------------------------------------------


def kernel_train(
    net: Net, x: Floats, swaps: Floats, noise: Floats, batch: int, corruption: float, squared: bool, rule: Rule
) -> tuple[dae.Parameters, Floats, dae.Gradient]:
    (rows, n), m = x.shape, net.hidden_bias.size
    theta, tied = to_parameters(net), net.decoder is net.encoder
    gradient, order = dae.zero_gradient(theta), np.arange(rows)
    work = dae.make_workspace(n, m, batch, corruption)
    dae.train(
        pad(x), order, swaps, noise, swaps.size // rows, batch, n, m, tied, squared, rule.rate, rule.bias_rate,
        rule.momentum, rule.keep, theta, gradient, work,
    )  # fmt: skip
    return theta, order, gradient


def check_training(n: int, m: int, rows: int, batch: int, epochs: int, tied: bool, squared: bool, rule: Rule) -> None:
    net, x = draw_net(n, m, tied=tied, scale=0.3), draw_bits(rows, n)
    swaps, noise = draw_words(epochs * rows, 32), draw_words(epochs * rows * n + LANES)
    theta, order, gradient = kernel_train(net, x, swaps, noise, batch, 0.1, squared, rule)
    before = net.encoder.copy()
    expected_order, velocity = slow_train(net, x, swaps, noise, batch, limit_of(0.1), squared, rule)
    assert order.tolist() == expected_order
    assert np.abs(net.encoder - before).max() > 5e-4, "nothing was learned, so nothing is compared"
    # Every update adds about one rounding of a layer.
    tolerance = LAYER * max(1, epochs * (rows // batch))
    assert_same(theta, net, tolerance)
    if max(n, m) < BLAS:  # BLAS needs no transpose
        assert (theta.decoder_t == theta.decoder.T).all()
    np.testing.assert_allclose(gradient.encoder[:n, :m], velocity["encoder"], rtol=0, atol=batch * tolerance)


RULES = {
    "plain": Rule(),
    "momentum": Rule(momentum=0.6),
    "decay": Rule(keep=0.99),
    "growth": Rule(keep=1.0002),
    "all": Rule(rate=0.1, bias_rate=0.7, momentum=0.3, keep=0.998),
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("tied", [True, False])
def test_train_by_every_rule(tied: bool, squared: bool, rule: Rule) -> None:
    check_training(20, 13, 47, 10, 4, tied, squared, rule)


@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_train_every_shape(n: int, m: int) -> None:
    check_training(n, m, 23, 5, 3, True, False, RULES["all"])
    check_training(n, m, 23, 5, 3, False, False, RULES["all"])


@pytest.mark.parametrize(("rows", "batch"), [(1, 1), (6, 1), (12, 12), (12, 7), (101, 50)])
def test_train_with_every_kind_of_batch(rows: int, batch: int) -> None:
    check_training(9, 6, rows, batch, 3, True, False, RULES["momentum"])


def test_training_in_pieces_is_training_in_one() -> None:
    net, x, rule = draw_net(12, 12, tied=True), draw_bits(30, 12), RULES["all"]
    swaps, noise = draw_words(6 * 30, 32), draw_words(6 * 30 * 12 + LANES)
    whole, whole_order, _ = kernel_train(net, x, swaps, noise, 7, 0.1, False, rule)
    theta, order = to_parameters(net), np.arange(30)
    gradient, work = dae.zero_gradient(theta), dae.make_workspace(12, 12, 7, 0.1)
    for first, last in ((0, 1), (1, 4), (4, 6)):
        dae.train(
            pad(x), order, swaps[first * 30 : last * 30], noise[first * 360 :], last - first, 7, 12, 12, True, False,
            rule.rate, rule.bias_rate, rule.momentum, rule.keep, theta, gradient, work,
        )  # fmt: skip
        dae.mean_error(pad(x), pad(x, np.float32), 12, 12, False, theta, work)  # as a fit does in between
    assert order.tolist() == whole_order.tolist()
    for name in dae.Parameters._fields:
        assert (getattr(theta, name) == getattr(whole, name)).all(), name


def test_the_rows_left_over_by_an_epoch_teach_nothing() -> None:
    net, x = draw_net(10, 6, tied=True), draw_bits(23, 10)
    swaps, noise = draw_words(23, 32), draw_words(23 * 10 + LANES)
    first, order, _ = kernel_train(net, x, swaps, noise, 5, 0.1, False, Rule())
    for row, matters in ((order[-1], False), (order[-3], False), (order[-4], True), (order[0], True)):
        changed = x.copy()
        changed[row] = 1 - changed[row]
        other, _, _ = kernel_train(net, changed, swaps, noise, 5, 0.1, False, Rule())
        assert (other.encoder != first.encoder).any() == matters


def test_training_does_not_touch_the_rows() -> None:
    x = pad(draw_bits(20, 9))
    before = x.copy()
    theta = to_parameters(draw_net(9, 9, tied=True))
    dae.train(
        x, np.arange(20), draw_words(40, 32), draw_words(2 * 20 * 9 + LANES), 2, 5, 9, 9, True, False, 0.1, 0.5,
        0.3, 1.0, theta, dae.zero_gradient(theta), dae.make_workspace(9, 9, 5, 0.5),
    )  # fmt: skip
    assert (x == before).all()


def test_tied_parameters_stay_one_array_when_copied() -> None:
    for tied in (True, False):
        theta = to_parameters(draw_net(5, 4, tied=tied))
        copy = dae.copy_parameters(theta)
        assert (copy.decoder is copy.encoder) == tied
        for name in dae.Parameters._fields:
            assert (getattr(copy, name) == getattr(theta, name)).all()
            assert not np.shares_memory(getattr(copy, name), getattr(theta, name))


# --- Errors and samples. --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 7, 8, 30])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("n", "m"), [*SHAPES, (31, 8), (32, 8), (33, 8), (65, 8)])
def test_mean_error(n: int, m: int, tied: bool, squared: bool, rows: int) -> None:
    """In batches of seven, the last one full or not."""
    net, x = draw_net(n, m, tied=tied), draw_bits(rows, n)
    corrupted = slow_corrupt(x, draw_words(x.size), 2**13)
    work = dae.make_workspace(n, m, 7, 0.1)
    got = dae.mean_error(pad(x), pad(corrupted, np.float32), n, m, squared, to_parameters(net), work)
    assert got == pytest.approx(net.error(x, corrupted, squared) / rows, rel=1e-5)


def test_the_cross_entropy_of_a_net_that_is_sure_and_wrong_is_finite() -> None:
    n = 100
    theta = dae.zero_parameters(n, 3, tied=True)
    theta.output_bias[:n] = np.where(np.arange(n) % 2, 1e6, -1e6)
    wrong = (1 - np.arange(n) % 2).astype(np.uint8)[None]
    work = dae.make_workspace(n, 3, 1, 0.1)
    error = dae.mean_error(pad(wrong), pad(wrong, np.float32), n, 3, False, theta, work)
    # The logistic may be off by 4e-7, which is more than the smallest probability.
    sureness = dae.SMALLEST_PROBABILITY
    assert -n * np.log(4e-7 + sureness) <= error <= -n * np.log(sureness) * (1 + 1e-6)
    assert dae.mean_error(pad(1 - wrong), pad(wrong, np.float32), n, 3, False, theta, work) <= n * 5e-7
    assert dae.mean_error(pad(wrong), pad(wrong, np.float32), n, 3, True, theta, work) == pytest.approx(n)


def kernel_sample(net: Net, start: Floats, noise: Floats, draws: Floats, steps: int, batch: int) -> Floats:
    n, m = net.encoder.shape
    out = np.full(start.shape, 9, dtype=np.uint8)
    work = dae.make_workspace(n, m, batch, 0.1)
    dae.sample(start.ravel(), noise, draws.ravel(), steps, n, m, to_parameters(net), work, out)
    return out


def as_draws(probability: Floats) -> Floats:
    return np.clip(probability * 2.0**32, 0, 2**32 - 1).astype(np.uint32)


@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_sample(n: int, m: int, tied: bool, steps: int) -> None:
    """Draws just below and just above the twin's probabilities pin those of the kernel between them."""
    rows, net = 23, draw_net(n, m, tied=tied, scale=2.0)
    start, noise = draw_words(rows * n, seed=7).reshape(rows, n), draw_words(steps * rows * n + LANES, seed=8)
    z = slow_sample(net, start, noise, steps, limit_of(0.1))
    tolerance = 2e-5
    assert z.min() > tolerance
    assert z.max() < 1 - tolerance
    for batch in (5, 23, 64):
        assert kernel_sample(net, start, noise, as_draws(z - tolerance), steps, batch).all()
        assert not kernel_sample(net, start, noise, as_draws(z + tolerance), steps, batch).any()


def test_sample_draws_each_bit_once_in_the_end() -> None:
    rows, n, steps, net = 400, 12, 3, draw_net(12, 12, tied=True)
    start, noise = draw_words(rows * n, seed=7).reshape(rows, n), draw_words(steps * rows * n + LANES, seed=8)
    draws = draw_words(rows * n, 32, seed=9).reshape(rows, n)
    z = slow_sample(net, start, noise, steps, limit_of(0.1))
    assert np.abs(draws / 2**32 - z).min() > 1e-5, "another seed: a draw is too close to call"
    assert (kernel_sample(net, start, noise, draws, steps, 128) == (draws / 2**32 < z)).all()


@pytest.mark.parametrize("sample_of", [0, 1])
def test_a_net_that_is_sure_draws_certainties(sample_of: int) -> None:
    net = draw_net(9, 5, tied=True)
    net.output_bias[...] = 1e4 if sample_of else -1e4
    start = np.zeros((6, 9), dtype=np.uint16)
    draws: Callable[[int], Floats] = lambda value: np.full((6, 9), value, dtype=np.uint32)  # noqa: E731
    # 4e-7 of 2^32 draws is what the logistic may be off by.
    for value in (1_718, 2**31, 2**32 - 1_719):
        assert (kernel_sample(net, start, draw_words(6 * 9 + LANES), draws(value), 1, 6) == sample_of).all()


def test_sampling_starts_from_the_lowest_bits_and_feeds_back_real_values() -> None:
    """A net that passes on what it gets, weakened: binarised in between, it would give the same after every step."""
    net = Net(np.array([[4.0]]), np.array([[4.0]]), np.array([-2.0]), np.array([-2.0]))
    net.decoder = net.encoder
    once = float(net.reconstruct(np.array([[1.0]]))[0, 0])
    twice = float(net.reconstruct(np.array([[once]]))[0, 0])
    no_noise = np.full(64, 2**16 - 1, dtype=np.uint16)
    start = np.array([[2**15 + 1], [2**16 - 2]], dtype=np.uint16)
    assert abs(once - twice) > 0.01
    for steps, z in ((1, once), (2, twice)):
        below = kernel_sample(net, start, no_noise, as_draws(np.full((2, 1), z - 1e-5)), steps, 2)
        above = kernel_sample(net, start, no_noise, as_draws(np.full((2, 1), z + 1e-5)), steps, 2)
        assert [below[0, 0], above[0, 0]] == [1, 0]
        assert below[1, 0] == 0  # the other start is below

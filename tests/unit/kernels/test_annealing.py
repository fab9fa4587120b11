"""Simulated annealing against a slow twin that computes every gain from the function itself."""

from __future__ import annotations

import numpy as np
import pytest

from daedal.kernels import annealing
from daedal.models.walsh_equations import Sets
from daedal.models.walsh_function import WalshFunction
from daedal.rng import words16


@pytest.mark.parametrize("seed", range(8))
def test_chains_agree_with_their_slow_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, chains, sweeps = 7, 4, 9
    sets = sorted({tuple(sorted(rng.choice(n, rng.integers(1, 6), replace=False).tolist())) for _ in range(25)})
    f = WalshFunction(
        n=n, constant=0.0, terms=Sets.from_tuples(sets), coefficients=rng.normal(size=len(sets)), r2=1.0, price=1.0
    )
    x = rng.integers(0, 2, (chains, n), dtype=np.uint8)
    twin, temperatures = x.copy(), rng.random(chains) + 0.5
    words = words16(rng, chains * sweeps * n)
    logs = np.log((np.arange(4096) + 0.5) / 4096)
    values = np.empty(chains)
    starts, owners = f.variable_sets
    annealing.anneal(
        x, f.terms.members, f.terms.orders, f.coefficients, starts, owners, temperatures, sweeps, words, logs, values
    )

    drawn = iter(words.tolist())
    for row, temperature in zip(twin, temperatures, strict=True):

        def gain(i: int, row: np.ndarray = row) -> float:
            other = row.copy()
            other[i] ^= 1
            return float(f.predict(other[None])[0] - f.predict(row[None])[0])

        for sweep in range(sweeps):
            for i in range(n):
                if gain(i) > temperature * annealing.COLDEST ** (sweep / sweeps) * logs[next(drawn) >> 4]:
                    row[i] ^= 1
        while max(gain(i) for i in range(n)) > 1e-9:
            for i in range(n):
                if gain(i) > 1e-9:
                    row[i] ^= 1
    assert (x == twin).all()
    np.testing.assert_allclose(values, f.predict(x), atol=1e-9)

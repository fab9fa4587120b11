"""Where the autoencoder runs is checked before anything is loaded for it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from daedal.models import DAE


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(ValueError, match="numba or jax"):
        DAE(backend="cuda")  # type: ignore[arg-type]


def test_a_device_needs_a_backend_that_has_some() -> None:
    with pytest.raises(ValueError, match="expected backend=jax with a device, got device='gpu' and backend=numba"):
        DAE(device="gpu")


def test_jax_takes_memory_for_all_starts_at_once() -> None:
    def more(**settings: Any) -> int:
        bytes_of = (DAE(backend=one, **settings).working_bytes(1000, 50) for one in ("jax", "numba"))
        return next(bytes_of) - next(bytes_of)

    assert more() == 1000 * 50
    assert more(starts=4, hidden=80, pretrain=5) == 4 * 1000 * 50, "one layer has nothing to pretrain"
    assert more(starts=4, hidden=(80, 20)) == 4 * 1000 * 50
    assert more(starts=4, hidden=(80, 20), pretrain=5) == 4 * 1000 * 50 + 16 * 4 * 1000 * 80


def test_jax_is_loaded_by_those_alone_who_use_it() -> None:
    code = (
        "import sys, numpy as np; from daedal.models import DAE; DAE(backend='jax', device='gpu');"
        "x = np.zeros((10, 3), dtype=np.uint8); DAE(max_epochs=1).fit(x, rng=np.random.default_rng(0));"
        "print('jax' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "False"

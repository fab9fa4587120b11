"""What JAX cannot do is said in one sentence, and no run ends with anything but bits."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from rich.console import Console

import daedal
from daedal.cli.result_text import show
from daedal.models import DAE
from daedal.models.jax_backend import devices


def parents() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 2, (30, 6), dtype=np.uint8)


def fit(model: DAE) -> None:
    model.fit(parents(), rng=np.random.default_rng(0))


@pytest.mark.parametrize("name", ["gpu", "cpu:9", "abacus", "", "GPU:0", "cpu:"])
def test_an_unknown_device_is_told_those_there_are(name: str) -> None:
    model = DAE(backend="jax", device=name)
    with pytest.raises(
        ValueError, match=f"no device '{name}' here, expected one of cpu:0; or leave device out"
    ) as caught:
        fit(model)
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="no device"):
        daedal.maximize("onemax:n=6", algorithm=model, popsize=20, seed=1)


def test_a_device_is_found_by_name() -> None:
    first = jax.devices()[0]
    assert devices.find_device(None) is devices.find_device("cpu") is devices.find_device("cpu:0") is first
    assert devices.device_name(first) == "cpu:0"


class Gpu:
    """A device that these machines do not have."""

    platform, device_kind = "gpu", "NVIDIA A100-SXM4-40GB"

    def __init__(self, number: int) -> None:
        self.id, self.client = number, SimpleNamespace(platform="cuda")


def test_an_accelerator_is_named_with_its_make() -> None:
    assert devices.device_name(Gpu(1)) == "gpu:1 (NVIDIA A100-SXM4-40GB)"


def no_cpu(found: list[Gpu], backend: str | None) -> list[Gpu]:
    if backend is not None:
        raise RuntimeError(f"Unknown backend {backend}")
    return found


def test_devices_are_told_apart_by_their_own_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    there = [Gpu(2), Gpu(3)]
    monkeypatch.setattr(jax, "local_devices", lambda backend=None: no_cpu(there, backend))
    assert devices.find_device("gpu") is devices.find_device("cuda:2") is there[0]
    assert devices.find_device("gpu:3") is there[1]
    with pytest.raises(ValueError, match="no device 'gpu:0' here, expected one of gpu:2, gpu:3; or leave"):
        devices.find_device("gpu:0")


@pytest.mark.parametrize("platform", ["foo", "cuda"])
def test_a_platform_without_devices_is_one_sentence(platform: str) -> None:
    words = "from daedal.models import DAE\ntry:\n    DAE(backend='jax').prepare()\nexcept ValueError as e: print(e)"
    done = subprocess.run(
        [sys.executable, "-c", words], capture_output=True, text=True, timeout=120, check=True,
        env={**os.environ, "JAX_PLATFORMS": platform},
    )  # fmt: skip
    assert re.fullmatch(f"JAX finds no device with JAX_PLATFORMS={platform} here(: .+)?\n", done.stdout)


def test_out_of_memory_is_one_sentence() -> None:
    with (
        pytest.raises(ValueError, match=r"^drawing rows does not fit into the memory of cpu:0; take fewer") as caught,
        devices.within_memory(jax.devices()[0], "drawing rows"),
    ):
        jax.block_until_ready(jax.jit(lambda: jax.numpy.ones((2**45,), np.float32) * 2)())
    assert "\n" not in str(caught.value)
    with pytest.raises(RuntimeError, match="another"), devices.within_memory(jax.devices()[0], "drawing rows"):
        raise RuntimeError("another")


def test_more_than_the_machine_has_is_refused_before() -> None:
    model, x = DAE(backend="jax", hidden=2**20), np.zeros((10, 2000), dtype=np.uint8)
    with pytest.raises(ValueError, match=r"DAE with n=2,000 .* takes about .* this machine has"):
        model.fit(x, rng=np.random.default_rng(0))
    model, streams = DAE(backend="jax", hidden=200_000), [np.random.default_rng(k) for k in range(1000)]
    with pytest.raises(ValueError, match=r"training 1,000 networks of n=200 at once takes about .* train fewer"):
        model.fit_many([np.zeros((10, 200), dtype=np.uint8)] * 1000, rngs=streams)


@pytest.mark.parametrize("settings", [{"learning_rate": 1e300}, {"learning_rate": 1e38, "optimizer": "adam"}])
def test_training_that_diverges_is_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="the training of the autoencoder diverged with learning_rate=1e"):
        fit(DAE(backend="jax", max_epochs=20, **settings))  # type: ignore[arg-type]


def test_too_many_measurements_are_refused() -> None:
    with pytest.raises(ValueError, match="set a larger check_every"):
        fit(DAE(backend="jax", max_epochs=10**9, check_every=1))


def test_a_run_without_a_generation_needs_no_device() -> None:
    model = DAE(backend="jax", device="gpu")
    assert daedal.maximize("onemax:n=6", algorithm=model, popsize=20, seed=1, max_generations=0).explanation == ""


WITHOUT = "import sys; sys.modules['jax'] = None; sys.argv[0] = 'daedal'; from daedal.cli import main; main()"


def test_without_jax_there_is_the_line_that_installs_it(tmp_path: Path) -> None:
    words = ["solve", "onemax:n=8", "--algorithm", "dae", "--set", "backend=jax"]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *words], capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    assert done.returncode != 0
    assert 'backend=jax needs JAX: pip install "daedal[jax]"' in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_the_command_names_the_device(tmp_path: Path) -> None:
    how = ["solve", "onemax:n=8", "--algorithm", "dae", "--set", "backend=jax", "--popsize", "20", "--seed", "1"]
    run = [sys.executable, "-c", "import sys; sys.argv[0] = 'daedal'; from daedal.cli import main; main()", *how]
    done = subprocess.run([*run, "--json"], capture_output=True, text=True, timeout=120, cwd=tmp_path, check=True)
    assert '"explanation": "JAX, on cpu:0."' in done.stdout
    written = io.StringIO()
    result = daedal.maximize("onemax:n=8", algorithm="dae", backend="jax", popsize=20, seed=1)
    show(result, Console(file=written, width=80))
    assert "chosen  JAX, on cpu:0." in written.getvalue()

"""Runs in files: what is saved comes back whole; what is no saved run is refused, and left alone."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_helpers import at, told

import daedal
from daedal.limits import StopReason
from daedal.storage.checkpoint_file import RUN_FORM, CheckpointError, read_checkpoint_file, write_checkpoint_file

SMALL: dict[str, Any] = {"algorithm": "umda", "popsize": 20, "seed": 1, "max_generations": 3}
SPACE = daedal.Space(size=daedal.Integer(1, 9), mode=daedal.Choice("fast", "<b>"), some=daedal.Subset(4, at_most=2))


def infeasible(x: Any) -> Any:
    return np.full(len(x), -np.inf)


def failing(row: Any) -> float:
    if row[0]:
        raise RuntimeError("\x1b[31m=1+1 \udcff")
    return float(row.sum())


RUNS = {
    "auto": lambda: daedal.maximize("trap:k=4,n=20", seed=1),
    "dae": lambda: daedal.maximize("trap:k=4,n=20", **SMALL | {"algorithm": "dae"}),
    "minimize": lambda: daedal.minimize(lambda x: x.sum(axis=1), 12, **SMALL),
    "names": lambda: daedal.maximize(lambda x: x.sum(axis=1), ["a", "b", "<c>"], seed=1),
    "space": lambda: daedal.maximize(lambda values: values["size"] * 1.0, SPACE, seed=1, max_evaluations=40),
    "infeasible": lambda: daedal.maximize(infeasible, 8, **SMALL),
    "failing": lambda: daedal.maximize(failing, 8, vectorized=False, on_error="worst", **SMALL),
    "noisy": lambda: daedal.maximize("onemax:n=9", seed=1, noisy=True, max_evaluations=80),
    "constrained": lambda: daedal.maximize(
        lambda x: x.sum(axis=1), 10, constraints=[lambda x: x.sum(axis=1) - 4], seed=1, max_evaluations=60
    ),
    "one evaluation": lambda: daedal.maximize("onemax:n=9", seed=1, max_evaluations=1),
}


@pytest.mark.parametrize("name", RUNS)
def test_what_is_saved_comes_back(name: str, tmp_path: Path) -> None:
    result = RUNS[name]()
    result.save(tmp_path / "run.npz")
    back = daedal.load(tmp_path / "run.npz")
    assert told(back) == told(result)
    assert (back.problem, back.again) == (result.problem, result.again)
    assert back.history == result.history
    assert (back.seconds, back.cpu_seconds, back.cpu_seconds_to_best) == (
        result.seconds,
        result.cpu_seconds,
        result.cpu_seconds_to_best,
    )
    assert back.best == result.best
    assert [row.fitness for row in back.top(5)] == [row.fitness for row in result.top(5)]


@pytest.mark.parametrize("algorithm", ["auto", "umda", "dae", "ils"])
def test_a_checkpoint_shows_what_the_run_has_found(algorithm: str, tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    keywords = {"algorithm": algorithm, "seed": 1, "checkpoint": path, "every": 1}
    result = daedal.maximize("trap:k=4,n=20", max_evaluations=300, **keywords)
    assert told(daedal.load(path)) == told(result)


def test_the_checkpoint_of_a_run_that_goes_on_says_so(tmp_path: Path) -> None:
    path, loaded = tmp_path / "run.ckpt", []
    daedal.maximize(
        "onemax:n=12", checkpoint=path, every=1, callback=lambda _: path.exists() and loaded.append(daedal.load(path)),
        **SMALL,
    )  # fmt: skip
    assert loaded
    for result in loaded:
        assert result.stop is StopReason.UNFINISHED
        assert result.fitness == result.history[-1].best
        assert result.trace is not None
        assert result.trace.generations[-1] == result.history[-1].generation


def test_a_trace_is_the_same_after_a_resume(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    keywords: dict[str, Any] = {"seed": 3, "algorithm": "ils", "max_evaluations": 400}
    daedal.maximize("trap:k=4,n=20", checkpoint=path, every=1, callback=at(4), **keywords)
    assert told(daedal.resume(path)) == told(daedal.maximize("trap:k=4,n=20", **keywords))


def test_a_file_of_another_kind_is_never_replaced(tmp_path: Path) -> None:
    result, path = RUNS["auto"](), tmp_path / "mine.py"
    path.write_text("precious = 1\n")
    with pytest.raises(OSError, match=r"mine\.py"):
        result.save(path)
    assert path.read_text() == "precious = 1\n"
    daedal.maximize("onemax:n=8", checkpoint=tmp_path / "run.ckpt", **SMALL)
    before = (tmp_path / "run.ckpt").read_bytes()
    with pytest.raises(OSError, match=r"run\.ckpt"):
        result.save(tmp_path / "run.ckpt")
    assert (tmp_path / "run.ckpt").read_bytes() == before
    result.save(tmp_path / "run.npz")
    result.save(tmp_path / "run.npz")  # one of its own kind
    assert os.listdir(tmp_path).count("run.npz") == 1


def test_what_is_no_saved_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    with pytest.raises(FileNotFoundError):
        daedal.load(path)
    for data in (b"", b"hello", b"PK\3\4" + bytes(200)):
        path.write_bytes(data)
        with pytest.raises(CheckpointError):
            daedal.load(path)


def test_a_field_or_an_array_of_another_kind_is_refused_or_does_no_harm(tmp_path: Path) -> None:
    path, odd = tmp_path / "run.npz", tmp_path / "odd.npz"
    RUNS["dae"]().save(path)
    arrays, fields = read_checkpoint_file(path, form=RUN_FORM)
    counts = {"read": 0, "refused": 0}
    for part, values in fields.items():
        for name in values:
            for value in (None, -1, "text", [1], 10**40):
                changed = {**fields, part: {**values, name: value}}
                counts[attempt(odd, arrays, changed)] += 1
    for name, array in arrays.items():
        for other in (None, array[:0], array[None], array.astype(np.float32), np.concatenate([array, array])):
            changed = {key: kept for key, kept in arrays.items() if key != name}
            counts[attempt(odd, changed if other is None else {**changed, name: other}, fields)] += 1
    assert min(counts.values()) > 20, counts


def attempt(path: Path, arrays: Any, fields: Any) -> str:
    write_checkpoint_file(path, arrays=arrays, fields=fields, form=RUN_FORM)
    try:
        result = daedal.load(path)
    except CheckpointError as error:
        return "refused" if str(error).isprintable() else pytest.fail(repr(error))
    assert set(result.x.tolist()) <= {0, 1}
    return "read"


def test_a_trace_of_other_variables_is_refused(tmp_path: Path) -> None:
    result = daedal.maximize("onemax:n=8", seed=1)
    assert result.trace is not None
    dataclasses.replace(result, x=np.tile(result.x, 2)).save(tmp_path / "odd.npz")
    with pytest.raises(ValueError, match="16 variables"):
        daedal.load(tmp_path / "odd.npz")

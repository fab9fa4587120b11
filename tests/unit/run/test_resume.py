"""Checkpoints that nobody should trust: whatever is in them, no code is run, no file made; a refusal is one line."""

from __future__ import annotations

import copy
import math
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from run_helpers import OWN_ALGORITHM, at

import daedal
from daedal.run.resume import restored_config
from daedal.storage.checkpoint_file import read_checkpoint_file
from daedal.types import Json, State

Content = tuple[dict[str, NDArray[Any]], dict[str, Json]]

MISSING = object()
VALUES: list[Any] = [MISSING, None, True, -1, 0, 10**30, 10**400, 0.5, math.inf, -math.inf, math.nan, ""]
VALUES += ["x\ny\x1b[2J", "../../etc/passwd", [], [["a", "b", "c"]], {}, {"__class__": "os.system"}]


@pytest.fixture(scope="module")
def contents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Content]:
    """What runs have to keep: with niching, with a model that lives on, in the middle of a batch, and of one's own."""
    folder = tmp_path_factory.mktemp("contents")
    run: dict[str, Any] = {"seed": 1, "max_generations": 4, "max_evaluations": 300, "target": 9.5}
    for name in ("hboa", "pbil", OWN_ALGORITHM):
        path, size = folder / name.rpartition(":")[2], {} if name == OWN_ALGORITHM else {"popsize": 12}
        daedal.maximize("onemax:n=5", algorithm=name, checkpoint=path, callback=at(2), **run, **size)
    rows = np.ones((2, 5), dtype=np.uint8)
    path = folder / "partial"
    with pytest.raises(daedal.ObjectiveError):
        daedal.maximize(
            _Third(), 5, vectorized=False, algorithm="umda", popsize=6, checkpoint=path, initial=rows, **run
        )
    made = {path.name: read_checkpoint_file(path) for path in folder.iterdir()}
    assert set(made) == {"hboa", "pbil", "HillClimber", "partial"}
    assert {"evaluator/partial", "optimizer/initial"} <= made["partial"][0].keys()
    return made


class _Third:
    """Fails in its third call."""

    calls = 0

    def __call__(self, row: Any) -> float:
        self.calls += 1
        if self.calls == 3:
            raise RuntimeError
        return float(row.sum())


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Fail, rather than hang."""

    def too_long(*_: object) -> None:
        raise AssertionError(f"longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def outcome(content: Content, name: str = "pbil") -> str:
    """Resume from a content, as `daedal.resume` does from a file; it either runs, or is refused in one line."""
    state = State(arrays=content[0], fields=content[1])
    objective = {"partial": lambda row: float(row.sum())}.get(name)
    algorithm = {"HillClimber": OWN_ALGORITHM}.get(name)
    with at_most(60):
        try:
            config = restored_config(state, "run.ckpt", objective, algorithm)
            result = config.evaluated_by(workers=1, executor=None).run(state=state)
        except (ValueError, OSError) as error:
            said = str(error)
            return said if said.isprintable() and said else pytest.fail(repr(said))
    assert set(result.x.tolist()) <= {0, 1}
    assert result.x.shape == (5,)
    return ""


def places(fields: dict[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Give the way to each field, whatever its depth."""
    for name, value in fields.items():
        yield (*above, name)
        if isinstance(value, dict):
            yield from places(value, (*above, name))


def altered(content: Content, *ways: tuple[str, Any]) -> Content:
    """Change fields: a way such as "config/seed", and a value."""
    arrays, fields = content[0], copy.deepcopy(content[1])
    for way, value in ways:
        inside: Any = fields
        *above, last = way.split("/")
        for name in above:
            inside = inside[name]
        if value is MISSING:
            del inside[last]
        else:
            inside[last] = value
    return arrays, fields


OPTIONAL = re.compile(
    r"optimizer/stop|found/(stop|popsize)|config/(spec|optimum|(limits|settings)/.*|evaluation/(timeout|cache|name))"
)


def fits(kept: Any, value: Any, way: str) -> bool:
    """Whether a value is of the kind that a field has."""
    if value is MISSING or kept is None or (value is None and OPTIONAL.fullmatch(way)):
        return kept is None or OPTIONAL.fullmatch(way) is not None
    return type(value) in (int, float) if isinstance(kept, float) else type(value) is type(kept)


NAMES = ["hboa", "pbil", "HillClimber", "partial"]


@pytest.mark.parametrize("name", NAMES)
def test_a_field_of_any_other_kind_does_no_harm(
    name: str, contents: dict[str, Content], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each field missing, of each other kind, negative, huge: no file, process or hang, and a word where it is odd."""
    monkeypatch.chdir(tmp_path)
    assert outcome(contents[name], name) == ""
    ways = ["/".join(way) for way in places(contents[name][1]) if way[-1] != "flips"]  # which is HillClimber's business
    assert len(ways) > 40
    for way in ways:
        kept: Any = contents[name][1]
        for part in way.split("/"):
            kept = kept[part]
        for value in VALUES:
            said = outcome(altered(contents[name], (way, value)), name)
            assert said or fits(kept, value, way), (way, value)
    assert list(tmp_path.iterdir()) == []


def bent(array: NDArray[Any]) -> Iterator[NDArray[Any] | None]:
    """Give arrays that are not the one that belongs there: of other types, shapes and values."""
    yield None
    yield from (array.astype(kind) for kind in ("bool", "int8", "uint8", "int64", "float32", "float64"))
    yield from (array[:0], array[None], array.reshape(-1), np.array(1, dtype=array.dtype))
    yield from (np.concatenate([array, array]), np.concatenate([array] * 50), array[1:])
    if array.ndim == 2:
        yield from (np.ascontiguousarray(array.T), np.concatenate([array, array], axis=1))
    numbers = (2, 255, 2**62, -1) if array.dtype.kind in "ui" else (math.nan, math.inf, -math.inf, -1.0, 1e300)
    for number in numbers:
        if array.size and (array.dtype.kind != "u" or 0 <= number < 2 ** (8 * array.itemsize)):
            with np.errstate(over="ignore"):  # infinite in 32 bits
                bad = np.full_like(array, number) if array.dtype.kind != "b" else array ^ True
            yield bad


@pytest.mark.parametrize("name", NAMES)
def test_an_array_of_any_other_kind_does_no_harm(name: str, contents: dict[str, Content], tmp_path: Path) -> None:
    """Kernels do not look at what they are given: what gets there has to be right."""
    arrays, fields = contents[name]
    counts = {"run": 0, "refused": 0}
    optional = ("optimizer/model", "optimizer/initial", "optimizer/x", "evaluator/partial", "trace/linkage")
    for which, array in arrays.items():
        for other in bent(array):
            changed = {key: kept for key, kept in arrays.items() if key != which}
            said = outcome((changed if other is None else {**changed, which: other}, fields), name)
            counts["refused" if said else "run"] += 1
            if other is None:
                assert said or which.startswith(optional), which
            elif other.dtype.kind != array.dtype.kind or other.ndim != array.ndim:
                assert said or which.startswith("history/info/"), (which, other)
    assert min(counts.values()) > 20, counts


@pytest.mark.parametrize(
    "spec",
    [
        "{folder}/harm.py:f",
        "cmd:touch {folder}/harmed",
        "cmd:{folder}/harm.py",
        "harm:f",
        "../../etc/passwd",
        "nk:../../etc/passwd",
        "nk:{folder}/harm.py",
        "nk:{folder}/pipe",
        "nk:/dev/zero",
        "nk:{folder}",
        "onemax:n=__import__('os').system('touch {folder}/harmed')",
        "onemax:n=1000000000000",
        "onemax:n=6",
        "nk:n=1000000,k=40,seed=1",
        "\0",
        "",
    ],
)
def test_a_checkpoint_names_what_daedal_has_and_nothing_else(
    spec: str, contents: dict[str, Content], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file of Python, no program, as objective or algorithm: nothing is run, and nothing is waited for."""
    monkeypatch.chdir(tmp_path)
    harm = tmp_path / "harm.py"
    harm.write_text(f"open({str(tmp_path / 'harmed')!r}, 'w')\ndef f(*x, **how): pass\n")
    harm.chmod(0o755)
    os.mkfifo(tmp_path / "pipe")
    text = spec.format(folder=tmp_path)
    assert outcome(altered(contents["pbil"], ("config/spec", text)))
    assert outcome(altered(contents["pbil"], ("config/spec", text), ("config/objective", text)))
    for kind in ("PBIL", "f", text):
        ways = (("config/algorithm", text), ("config/kind", kind), ("config/source", text), ("config/digest", text))
        said = outcome(altered(contents["pbil"], *ways))
        assert bool(said) == (kind != "PBIL" or not text.isprintable())  # a model may be called anything
    assert not (tmp_path / "harmed").exists()


@pytest.mark.parametrize(
    ("ways", "says"),
    [
        ([("config/limits/max_hours", 1)], "max_hours"),
        ([("config/evaluation/executor", 1)], "executor"),
        ([("config/settings/corruption", 1)], "corruption"),
        ([("config/algorithm", "nobody"), ("config/kind", "Nobody")], "nobody"),
        ([("config/kind", "Nobody")], "Nobody"),
        ([("config/algorithm", "dae")], "dae"),
        ([("config/kind", "DAE")], "DAE"),
        ([("config/algorithm", "dae"), ("config/kind", "DAE")], "learning_rate"),  # whose settings these are not
        ([("evaluator/evaluated", 1000)], "answers"),
        ([("evaluator/failed", 1)], "answers"),
    ],
)
def test_what_does_not_belong_together_is_refused(
    ways: list[tuple[str, Any]], says: str, contents: dict[str, Content], tmp_path: Path
) -> None:
    assert says in outcome(altered(contents["pbil"], *ways))


def test_a_file_cannot_ask_for_all_processes_there_are(contents: dict[str, Content]) -> None:
    for asked, given in ((3, 3), (10**9, 256)):
        arrays, fields = altered(contents["pbil"], ("config/evaluation/workers", asked))
        assert restored_config(State(arrays=arrays, fields=fields), "run.ckpt").evaluation.workers == given


def test_a_cache_is_not_made_where_a_checkpoint_says(contents: dict[str, Content], tmp_path: Path) -> None:
    new, letter = tmp_path / "new.db", tmp_path / "letter.txt"
    letter.write_text("dear reader, " * 500)
    for cache in (new, letter):
        assert str(cache) in outcome(altered(contents["pbil"], ("config/evaluation/cache", str(cache))))
    assert not new.exists()
    assert letter.read_text() == "dear reader, " * 500
    new.touch()
    assert outcome(altered(contents["pbil"], ("config/evaluation/cache", str(new)))) == ""

"""Files that commands write: only a file of the same kind is replaced, and other files are refused before the run."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from cli_helpers import Cli, Refused, read_report

STUDY = 'runs = 1\npopsizes = [10]\nproblems = ["onemax:n=6"]\nalgorithms = ["umda"]\n'
SOLVE = ("solve", "onemax:n=10", "-a", "umda", "--popsize", 10, "--max-generations", 2, "--seed", 1)
OUTPUTS = {
    "run": (*SOLVE, "--run"),
    "instance": ("instance", "nk", "--n", 5, "--k", 1, "-o"),
    "table": ("study", "table", "--store", "study.db", "--format", "csv", "-o"),
    "json": ("study", "export", "--store", "study.db", "--format", "json", "-o"),
    "parquet": ("study", "export", "--store", "study.db", "--format", "parquet", "-o"),
    "report": ("report", "study.db", "-o"),
    "store": ("study", "run", "study.toml", "--workers", 1, "--store"),
    "merged": ("study", "merge", "study.db", "--store"),
}
"""What daedal writes: a command, to be followed by a file."""

FIGURES = ("study", "plot", "--store", "study.db", "-o")
MINE = {"source.py": "def f(x): return x.sum(axis=1)\n", "data.csv": "a,b\n1,2\n", "x.json": "[1, 2]"}


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory, cli: Cli) -> Path:
    """Make a folder with a file of each kind, which has the name of its command, and some of a user's."""
    folder = tmp_path_factory.mktemp("room")
    for name, text in {"study.toml": STUDY, **MINE}.items():
        (folder / name).write_text(text)
    assert cli("study", "run", "study.toml", "--store", "study.db", cwd=folder).returncode == 0
    assert cli(*FIGURES, "figures", cwd=folder).returncode == 0
    (folder / "table.svg").write_bytes((folder / "figures" / "onemax-n6.svg").read_bytes())
    (folder / "empty").touch()
    return folder


@pytest.fixture
def files(room: Path, tmp_path: Path, here: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = Path(shutil.copytree(room, tmp_path / "room"))
    monkeypatch.chdir(folder)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_only_a_file_of_its_own_kind_is_replaced(files: Path, here: Cli) -> None:
    for output, command in OUTPUTS.items():
        done = here(*command, output)
        assert done.returncode == 0, done.stderr
    os.mkfifo("pipe")
    (files / "loop").symlink_to("loop")
    family = {"merged": "store", "study.db": "store", "json": "table"}
    before = contents(files)
    for output, command in OUTPUTS.items():
        for name in (*MINE, "study.toml", "table.svg", *OUTPUTS, "study.db", "pipe", "loop", "figures"):
            if family.get(name, name) != family.get(output, output):
                done = here(*command, name)
                assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), (name, done.stderr)
    assert contents(files) == before
    for output, command in OUTPUTS.items():
        assert here(*command, output).returncode == 0
        (files / "empty").write_bytes(b"")
        assert here(*command, "empty").returncode == 0
        (files / "empty").unlink()


def test_figures_replace_figures_alone(files: Path, here: Cli, refused: Refused) -> None:
    assert here(*FIGURES, "figures").returncode == 0
    for ending, text in {"svg": b"<?xml version='1.0'?><svg/>", "png": b"\x89PNG\r\n\x1a\n of mine"}.items():
        shutil.rmtree("figures")
        (files / "figures").mkdir()
        mine = files / "figures" / f"onemax-n6.{ending}"
        mine.write_bytes(text)
        refused(here(*FIGURES, "figures"), mine.name)
        assert os.listdir("figures") == [mine.name]


@pytest.mark.parametrize(
    "words",
    [
        ("--run", "both", "--known", "both"),
        ("--run", "both", "--known", "linked"),
        ("--run", "a-wal", "--known", "a"),
        ("--run", "rows", "--initial", "rows"),
        ("--known", "rows", "--initial", "rows"),
    ],
    ids=" ".join,
)
def test_two_options_do_not_share_a_file(
    words: tuple[str, ...], here: Cli, refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "linked").symlink_to("both")
    refused(here(*SOLVE, *words), "name the same file")
    assert os.listdir(tmp_path) == ["linked"]


def test_a_source_survives_its_own_command(mine: Path, here: Cli, refused: Refused) -> None:
    before = mine.read_bytes()
    refused(here("solve", f"{mine}:ones", "--n", 10, "-a", "umda", "--run", mine), "name the same file")
    assert mine.read_bytes() == before
    assert os.listdir(mine.parent) == [mine.name]


@pytest.mark.parametrize("word", ["/dev/zero", "pipe", "."])
@pytest.mark.parametrize("command", [("study", "run", "IT", "--store", "new.db"), (*SOLVE, "--initial", "IT")])
def test_what_never_ends_is_not_read(
    word: str,
    command: tuple[str, ...],
    here: Cli,
    refused: Refused,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    refused(here(*(word if part == "IT" else part for part in command)), "not a plain file")
    assert os.listdir(tmp_path) == ["pipe"]


def test_rows_and_studies_may_come_from_standard_input(
    here: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1111111111\n")))
    assert read_report(here(*SOLVE, "--json", "--initial", "-"))["fitness"] == 10
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(STUDY.encode())))
    assert here("study", "run", "-", "--store", "new.db", "--workers", 1).returncode == 0
    assert json.loads(here("study", "status", "--store", "new.db", "--json").stdout)["done"] == 1


def test_files_stay_where_they_were_named(cli: Cli, tmp_path: Path) -> None:
    """Whichever folder the objective changes to, when its file is loaded or later."""
    (tmp_path / "elsewhere").mkdir()
    text = "import os\nos.chdir('elsewhere')\ndef f(x):\n    os.chdir('/')\n    return x.sum(axis=1)\n"
    (tmp_path / "mine.py").write_text(text)
    done = cli("solve", "mine.py:f", "--n", 8, "-a", "umda", "--popsize", 20, "--run", "a.db", "--json", cwd=tmp_path)
    assert read_report(done)["fitness"] == 8
    (tmp_path / "study.toml").write_text(STUDY.replace('"onemax:n=6"', '{problem = "mine.py:f", n = 6, target = 6.0}'))
    assert cli("study", "run", "study.toml", "--store", "c.db", cwd=tmp_path).returncode == 0
    assert {"a.db", "c.db"} <= set(os.listdir(tmp_path))
    assert os.listdir(tmp_path / "elsewhere") == []

"""Whatever is named as an output: nothing that is not of its kind is ever replaced, and that is said before the run."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from cli_helpers import Cli, Refused, read_report

STUDY = 'runs = 1\npopsizes = [10]\nproblems = ["onemax:n=6"]\nalgorithms = ["umda"]\n'
SOLVE = ("solve", "onemax:n=10", "-a", "umda", "--popsize", 10, "--max-generations", 2)
OUTPUTS = {
    "checkpoint": (*SOLVE, "--checkpoint"),
    "cache": (*SOLVE, "--cache"),
    "instance": ("instance", "nk", "--n", 5, "--k", 1, "-o"),
    "table": ("study", "table", "--store", "study.db", "--format", "csv", "-o"),
    "markdown": ("study", "table", "--store", "study.db", "--format", "markdown", "-o"),
    "latex": ("study", "table", "--store", "study.db", "--format", "latex", "-o"),
    "text": ("study", "table", "--store", "study.db", "--format", "rich", "-o"),
    "json": ("study", "export", "--store", "study.db", "--format", "json", "-o"),
    "parquet": ("study", "export", "--store", "study.db", "--format", "parquet", "-o"),
    "store": ("study", "run", "study.toml", "--workers", 1, "--store"),
    "merged": ("study", "merge", "study.db", "--store"),
}
"""What daedal writes: a command, to be followed by a file. `own` says which may be replaced by which."""

FIGURES = ("study", "plot", "--store", "study.db", "-o")


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory, cli: Cli) -> Path:
    """Give a folder with a file of each kind, called as the command, and some of a user's."""
    folder = tmp_path_factory.mktemp("room")
    (folder / "study.toml").write_text(STUDY)
    for name, text in {
        "source.py": "def f(x): return x.sum(axis=1)\n",
        "data.csv": "a,b\n1,2\n",
        "x.json": "[1, 2]",
    }.items():
        (folder / name).write_text(text)
    assert cli("study", "run", "study.toml", "--store", "study.db", cwd=folder).returncode == 0
    for name, command in OUTPUTS.items():
        done = cli(*command, name, cwd=folder)
        assert done.returncode == 0, done.stderr
    assert cli(*FIGURES, "figures", cwd=folder).returncode == 0
    (folder / "table.svg").write_bytes((folder / "figures" / "onemax-n6.svg").read_bytes())
    (folder / "empty").touch()
    return folder


@pytest.fixture
def files(room: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(room, tmp_path / "room"))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def family(name: str) -> str:
    """Give what may replace each other."""
    return {"merged": "store", "study.db": "store", "empty": "any"}.get(name, name)


@pytest.mark.parametrize("output", OUTPUTS)
def test_only_a_file_of_its_own_kind_is_replaced(
    output: str, files: Path, here: Cli, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    os.mkfifo("pipe")
    (files / "loop").symlink_to("loop")
    others = [
        "source.py",
        "data.csv",
        "x.json",
        "study.toml",
        "table.svg",
        *OUTPUTS,
        "study.db",
        "pipe",
        "loop",
        "figures",
    ]
    before = contents(files)
    for name in others:
        if family(name) != family(output):
            done = here(*OUTPUTS[output], name)
            assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), (name, done.stderr)
            assert contents(files) == before
    force = ("--force",) if output == "checkpoint" else ()
    if output != "merged":
        assert here(*OUTPUTS[output], output, *force).returncode == 0
    assert here(*OUTPUTS[output], "empty", *force).returncode == 0
    if output == "checkpoint":
        done = here(*OUTPUTS[output], output)
        refused(done, "--force")
        assert "daedal resume checkpoint" in done.stderr


def test_figures_replace_figures_alone(
    files: Path, here: Cli, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    assert here(*FIGURES, "figures").returncode == 0
    for ending in ("svg", "png"):
        shutil.rmtree("figures")
        (files / "figures").mkdir()
        mine = files / "figures" / f"onemax-n6.{ending}"
        mine.write_bytes(b"<?xml version='1.0'?><svg/>" if ending == "svg" else b"\x89PNG\r\n\x1a\n of mine")
        refused(here(*FIGURES, "figures"), mine.name)
        assert os.listdir("figures") == [mine.name]


@pytest.mark.parametrize(
    "words",
    [
        ("--checkpoint", "both", "--cache", "both"),
        ("--checkpoint", "both", "--cache", "linked"),
        ("--checkpoint", "a", "--cache", "a.previous"),
        ("--checkpoint", "a-wal", "--cache", "a"),
        ("--initial", "rows", "--cache", "rows"),
        ("--initial", "rows", "--checkpoint", "rows"),
    ],
)
def test_two_options_do_not_share_a_file(
    words: tuple[str, ...], here: Cli, refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "linked").symlink_to("both")
    refused(here(*SOLVE, *words), "files of their own")
    assert os.listdir(tmp_path) == ["linked"]


def test_a_source_survives_its_own_command(mine: Path, here: Cli, refused: Refused) -> None:
    before = mine.read_bytes()
    words = ("solve", f"{mine}:count", "--n", 10, "-a", "umda", "--popsize", 20, "--checkpoint", mine, "--every", 1)
    for force in ((), ("--force",)):
        refused(here(*words, *force), "files of their own")
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


def test_rows_and_studies_may_come_from_standard_input(cli: Cli, tmp_path: Path) -> None:
    done = cli(*SOLVE[:-2], "--max-evaluations", 1, "--json", "--initial", "-", input="1111111111\n", cwd=tmp_path)
    assert read_report(done)["fitness"] == 10
    assert cli("study", "run", "-", "--store", "new.db", input=STUDY, cwd=tmp_path).returncode == 0
    assert json.loads(cli("study", "status", "--store", "new.db", "--json", cwd=tmp_path).stdout)["done"] == 1


def test_files_stay_where_they_were_named(cli: Cli, tmp_path: Path) -> None:
    """Whatever folder the objective goes to, when its file is loaded or later."""
    (tmp_path / "elsewhere").mkdir()
    text = "import os\nos.chdir('elsewhere')\ndef f(x):\n    os.chdir('/')\n    return x.sum(axis=1)\n"
    (tmp_path / "mine.py").write_text(text)
    words = ("solve", "mine.py:f", "--n", 8, "-a", "umda", "--popsize", 20, "--checkpoint", "a.ckpt", "--every", 1)
    done = cli(*words, "--cache", "b.db", "--name", "f", "--json", cwd=tmp_path)
    assert read_report(done)["fitness"] == 8
    assert {"a.ckpt", "b.db"} <= set(os.listdir(tmp_path))
    (tmp_path / "study.toml").write_text(STUDY.replace('"onemax:n=6"', '{problem = "mine.py:f", n = 6, target = 6.0}'))
    assert cli("study", "run", "study.toml", "--store", "c.db", cwd=tmp_path).returncode == 0
    assert cli("study", "plot", "--store", "c.db", "-o", "figures", cwd=tmp_path).returncode == 0
    assert {"c.db", "figures"} <= set(os.listdir(tmp_path))
    assert os.listdir(tmp_path / "elsewhere") == []


def test_the_lock_of_a_store_is_no_file_of_somebody_else(
    here: Cli, refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "a.db.lock").write_text("mine")
    refused(here("study", "run", "study.toml", "--workers", 1, "--store", "a.db"), "a.db.lock")
    assert (tmp_path / "a.db.lock").read_text() == "mine"

"""Names, paths and errors of users are data: they are stored and shown as they are, and no terminal obeys them."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pytest
from cli_helpers import Cli, Refused

OBJECTIVES = r"""
def fails(x):
    raise OSError("no such file: \udcff\x1b[2J\a")

def ones(x):
    return x.sum(axis=1)
"""
STUDY = r"""
runs = 2
popsizes = [20]
problems = [
    {name = "=1+1\u001b[31m|<b>`$", problem = "mine.py:fails", n = 5},
    {name = "@two\n[red]lines[/red]\u202e", problem = "mine.py:ones", n = 5, target = 5},
]
algorithms = [{name = "-umda\u0007", algorithm = "umda"}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder whose name is neither UTF-8 nor printable."""
    made = Path(os.fsdecode(os.fsencode(tmp_path) + b"/odd\xff\x1b"))
    made.mkdir()
    (made / "mine.py").write_text(OBJECTIVES)
    (made / "study.toml").write_text(STUDY)
    return made


def harmless(text: str) -> str:
    assert not {sign for sign in text if not sign.isprintable()} - {"\n"}, ascii(text)
    return text


def test_a_study_shows_every_text(here: Cli, folder: Path) -> None:
    store = folder / "store.db"
    done = here("study", "run", folder / "study.toml", "--store", store, "--workers", 1)
    assert done.returncode == 0, done.stderr
    assert r"=1+1\x1b[31m|<b>`$" in harmless(done.stderr + done.stdout)
    assert "2 runs" in done.stderr

    assert r"no such file: \udcff\x1b[2J\x07" in harmless(here("study", "status", "--store", store).stdout)
    for form, name in {
        "rich": r"@two [red]lines[/red]\u202e",
        "markdown": r"@two \[red\]lines\[/red\]\\u202e",
        "latex": r"@two {[}red{]}lines{[}/red{]}\textbackslash{}u202e",
        "json": r"@two\n[red]lines[/red]\u202e",
        "csv": "'@two\n[red]lines[/red]\\u202e",
    }.items():
        done = here("study", "table", "--store", store, "--format", form)
        assert done.returncode == 0
        assert name in harmless(done.stdout.replace("\r\n", "\n")), form
    assert here("study", "merge", store, "--store", folder / "other.db").returncode == 0

    text = here("study", "export", "--store", store).stdout
    rows = list(csv.DictReader(io.StringIO(harmless(text.replace("\r\n", "\n")))))
    assert {row["problem"] for row in rows} == {r"'=1+1\x1b[31m|<b>`$", "'@two\n[red]lines[/red]\\u202e"}
    assert {row["algorithm"] for row in rows} == {r"'-umda\x07"}
    of_json = json.loads(here("study", "export", "--store", store, "--format", "json").stdout)
    assert {row["problem"] for row in of_json} == {"=1+1\x1b[31m|<b>`$", "@two\n[red]lines[/red]\u202e"}


def test_a_run_with_paths_and_names_of_any_kind(here: Cli, folder: Path) -> None:
    odd = os.fsdecode(b"n\xff\x1b")
    objective = f"{folder}/mine.py:ones"
    words = ("solve", objective, "--n", 5, "-a", "umda", "--popsize", 20, "--seed", 1)
    done = here(*words, "--run", folder / odd)
    assert done.returncode == 0, done.stderr
    assert r"odd\udcff\x1b" in harmless(done.stderr)
    again = here("resume", folder / odd, objective, "--json")
    assert json.loads(again.stdout)["problem"] == objective
    assert r"\udcff\x1b" in harmless(here("solve", f"{folder}/mine.py:{odd}", "--n", 5).stderr)
    failed = here("solve", f"{folder}/mine.py:fails", "--n", 5, "-a", "umda")
    assert failed.returncode == 2
    assert r"\udcff\x1b[2J\x07" in harmless(failed.stderr)


@pytest.mark.parametrize(
    "words",
    [
        ("solve", "mine.py:x", "--n", 5),
        ("solve", "onemax:n=5", "-a", "mine.py:x"),
        ("solve", "onemax:n=5", "-a", "other.py:build"),
        ("solve", "onemax:n=5", "-a", "other.py:shy"),
        ("solve", "onemax:n=5", "--run", "loop"),
        ("solve", "onemax:n=5", "--initial", "loop"),
        ("resume", "loop"),
        ("study", "run", "loop", "--store", "new.db"),
        ("study", "run", "study.toml", "--store", "loop"),
        ("study", "table", "--store", "loop"),
        ("study", "merge", "loop", "--store", "new.db"),
        ("report", "loop", "-o", "page.html"),
        ("optimum", "nk:loop"),
    ],
    ids=lambda words: " ".join(map(str, words)),
)
def test_modules_that_raise_and_links_in_a_circle_are_one_line(
    here: Cli, refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[object, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("def __getattr__(name): raise RuntimeError(name)")
    Path("other.py").write_text(
        "def build(n): return {}[n]\nclass Shy:\n    def __repr__(self): raise RuntimeError\nshy = Shy()\n"
    )
    Path("study.toml").write_text('problems = ["onemax:n=5"]\nalgorithms = ["umda"]\npopsizes = [20]\nruns = 1\n')
    Path("loop").symlink_to("loop")
    refused(here(*words), "")

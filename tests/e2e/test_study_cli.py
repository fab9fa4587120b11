"""`daedal study`: what a study makes of its runs, and every way to look at it."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from study_helpers import stored, timeless

import daedal
from daedal.studies.spec import Study
from daedal.studies.store import COLUMNS, FAILED, KILLED, Store
from daedal.types import to_text

MINE = """
import daedal

def zeros(row):
    assert row.ndim == 1
    if not row.any():
        print("solved")
    return float(row.sum())

def ones(x):
    return x.sum(axis=1)

async def Guess(f, *, n, rng):
    while True:
        await f(f.random(3, rng))
"""
STUDY = """
runs = 6
seed = 3
popsizes = [8, 16, 32]
problems = [
    "onemax:n=12",
    { name = "[/b] four", problem = "trap:k=4,n=12" },
    { name = "zeros", problem = "mine.py:zeros", n = 10, by_row = true, minimize = true, target = 0 },
]
algorithms = ["umda", { name = "PBIL [fast]", algorithm = "pbil", settings = { learning_rate = 0.3 } }]
[limits]
max_generations = 12
"""
NAMES = {"umda": "umda", "pbil": "PBIL [fast]"}


@dataclass(frozen=True)
class Made:
    """A study that was run: its store, what the command wrote, and the rows of the store."""

    store: Path
    done: Any
    rows: list[dict[str, Any]]


@pytest.fixture(scope="module")
def made(cli: Any, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A study that was run, and whose files are gone since: the store has to do alone."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "mine.py").write_text(MINE)
    (folder / "study.toml").write_text(STUDY)
    done = cli("study", "run", folder / "study.toml", "--store", folder / "one.db", "--workers", 2)
    assert done.returncode == 0, done.stderr
    for file in ("mine.py", "study.toml"):
        (folder / file).unlink()
    assert [path.name for path in folder.iterdir() if path.name != "__pycache__"] == ["one.db"]
    return Made(folder / "one.db", done, list(stored(folder / "one.db").values()))


@pytest.fixture
def copy(made: Made, tmp_path: Path) -> Path:
    """A copy of the store."""
    return Path(shutil.copy(made.store, tmp_path / "results.db"))


def listed(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def as_text(row: dict[str, Any]) -> dict[str, str]:
    return {name: "" if value is None else str(value) for name, value in row.items()}


# The runs


def test_each_run_is_that_of_its_seed(made: Made) -> None:
    """As `maximize` and `minimize` make it, with nothing known of studies."""
    problems = {"onemax:n=12": ("onemax:n=12", None), "[/b] four": ("trap:k=4,n=12", None)}
    for row in made.rows[::3]:
        objective, n = problems.get(row["problem"], (lambda x: x.sum(axis=1, dtype=float), 10))
        how = {"algorithm": row["preset"], "popsize": row["popsize"], "seed": row["seed"], "max_generations": 12}
        how |= {"learning_rate": 0.3} if row["preset"] == "pbil" else {}
        how |= {"target": 0.0, "minimize": True} if row["problem"] == "zeros" else {}
        result = daedal.maximize(objective, n, **how)
        assert (row["status"], row["stop"], row["x"]) == ("done", result.stop.value, to_text(result.x))
        assert (row["best"], row["evaluations"]) == (result.fitness, result.evaluations)
        for name in ("success", "optimum", "evaluations", "evaluations_to_best", "generations", "batches"):
            assert row[name] == getattr(result, name), name


def test_run_shows_its_table_and_says_what_it_did(made: Made, here: Any) -> None:
    said = made.done.stderr.splitlines()
    assert said[-1] == f"{len(made.rows)} runs made; 0 of this study were in {made.store} before"
    assert "solved" in said  # what objectives print is not for standard output
    assert made.done.stdout == here("study", "table", "--store", made.store).stdout
    assert "\x1b" not in made.done.stdout + made.done.stderr


def test_a_study_goes_on_with_what_is_new(copy: Path, made: Made, here: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    run = ("study", "run", tmp_path / "study.toml", "--store", copy)
    (tmp_path / "study.toml").write_text(STUDY)
    before = f"{len(made.rows)} of this study were in {copy} before"
    assert here(*run).stderr.splitlines()[-1] == f"nothing was left to run; {before}"
    assert list(stored(copy).values()) == made.rows
    (tmp_path / "study.toml").write_text(STUDY.replace('    "onemax:n=12",', '    "onemax:n=12", "onemax:n=5",'))
    done = here(*run, "--confirm", 1, "--workers", 1)
    rows = list(stored(copy).values())
    assert done.stderr.splitlines()[-1] == f"{len(rows) - len(made.rows)} runs made; {before}"
    assert rows[: len(made.rows)] == made.rows  # to the last digit of their clocks
    assert {row["seed"] for row in rows[len(made.rows) :] if row["problem"] != "onemax:n=5"} == {1_000_003}
    assert "again" in done.stdout
    assert "--confirm 1 holds as before; --confirm 0 ends it" in here(*run).stderr
    lines = json.loads(here("study", "table", "--store", copy, "--format", "json").stdout)
    assert {line["confirmed_runs"] for line in lines if line["evaluations_to_best"] is not None} == {1}


# Tables


def test_the_formats_of_a_table(made: Made, here: Any, tmp_path: Path) -> None:
    table = ("study", "table", "--store", made.store)
    written = {}
    for form, ending in {"rich": "txt", "markdown": "md", "latex": "TEX", "csv": "csv", "json": "json"}.items():
        done = here(*table, "--format", form)
        assert (done.returncode, done.stderr) == (0, "")
        assert "\x1b" not in done.stdout
        written[form] = done.stdout
        for words in (("-o", tmp_path / f"a.{ending}"), ("-o", tmp_path / "b", "--format", form)):  # by a file's name
            assert (here(*table, *words).stdout, here(*table, *words).returncode) == ("", 0)
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / "b").read_bytes()
        assert form == "rich" or (tmp_path / "b").read_bytes() == done.stdout.encode()  # which is wider in a file
    for form, name in (("rich", "PBIL [fast]"), ("markdown", r"PBIL \[fast\]"), ("latex", "PBIL {[}fast{]}")):
        assert written[form].count(name) == 6
    assert listed(written["csv"]) == list(map(as_text, json.loads(written["json"])))


def test_the_options_of_a_table(made: Made, here: Any) -> None:
    table = ("study", "table", "--store", made.store)
    plain, other, holm = (here(*table, *words).stdout for words in ((), ("--test", "mann-whitney"), ("--holm",)))
    assert ["signed-rank" in plain, "Mann-Whitney" in other, "Holm" in holm, "Holm" in plain] == [True] * 3 + [False]
    for form in ("rich", "markdown"):
        assert all(f" {size} " in here(*table, "--sizes", "--format", form).stdout for size in (8, 16, 32))
    of_json = json.loads(here(*table, "--sizes", "--format", "json").stdout)
    assert listed(here(*table, "--sizes", "--format", "csv").stdout) == list(map(as_text, of_json))
    assert sum(row["runs"] for row in of_json) == len(made.rows)


def test_each_study_of_a_store_can_be_shown(here: Any, refused: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    path, unknown = tmp_path / "results.db", {"problem": "mine.py:ones", "n": 5}  # what solved means there
    given = {"runs": 1, "popsizes": [9], "algorithms": ["umda"]}
    studies = [Study.from_dict(given | {"problems": [one]}, folder=tmp_path) for one in (unknown, "trap:k=4,n=8")]
    with Store(path) as store:
        for study in studies:
            store.remember(study)
            store.record(study.cells()[0], 0, study.cells()[0].config(0).run())

    for words, problem in (((), "trap:k=4,n=8"), (("--study", 2), "trap:k=4,n=8"), (("--study", 1), "mine.py:ones")):
        done = here("study", "table", "--store", path, "--format", "json", *words)
        assert "--study shows another one: " in done.stderr
        assert {row["problem"] for row in json.loads(done.stdout)} == {problem}
    assert " ?/1 " in here("study", "table", "--store", path, "--sizes", "--study", 1).stdout
    for command in ("table", "status", "plot"):
        refused(here("study", command, "--store", path, "--study", 3), "has no study 3; it has 1, 2")
    rows = json.loads(here("study", "export", "--store", path, "--format", "json").stdout)
    assert [row["cell"] for row in rows] == [study.cells()[0].key for study in studies]


def test_status(made: Made, here: Any, tmp_path: Path) -> None:
    done = here("study", "status", "--store", made.store)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"\n{len(made.rows)} runs done, 0 failed, none left: the study is complete\n" in done.stdout
    assert "\x1b" not in done.stdout
    assert "[/b] four" in done.stdout
    found = json.loads(here("study", "status", "--store", made.store, "--json").stdout)
    assert (found["done"], found["failed"], found["left"]) == (len(made.rows), 0, 0)
    assert sum(cell["solved"] for cell in found["cells"]) == sum(row["success"] for row in made.rows)


def test_what_failed_is_told_and_what_was_killed_comes_again(here: Any, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        "runs = 3\npopsizes = [50]\nproblems = ['onemax:n=5']\nalgorithms = ['umda']\n"
    )
    study, path = Study.from_file(tmp_path / "study.toml"), tmp_path / "results.db"
    with Store(path) as store:
        store.remember(study)
        for seed, status in enumerate((FAILED, KILLED)):
            store.record(study.cells()[0], seed, f"it has {status}", status=status)
    status = here("study", "status", "--store", path).stdout
    assert (
        "\n0 runs done, 1 failed, 1 killed, at least 1 left\n1 time: it has failed\n1 time: it has killed\n" in status
    )
    run = ("study", "run", tmp_path / "study.toml", "--store", path, "--workers", 1)
    *_, closing, warning = here(*run).stderr.splitlines()
    assert closing == f"2 runs made; 1 of this study were in {path} before"
    assert warning.startswith("1 run of this study failed: daedal study status --store ")
    assert "1 run made; 2 of this study were in" in here(*run, "--retry-failed").stderr
    assert {row["status"] for row in stored(path).values()} == {"done"}


# Everything, for other programs


def test_export(made: Made, here: Any, tmp_path: Path) -> None:
    export = ("study", "export", "--store", made.store)
    done = here(*export, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    rows = json.loads(done.stdout)
    with Store(made.store, create=False) as store:
        assert rows == list(store.rows())
    assert {(row["preset"], row["algorithm"]) for row in rows} == set(NAMES.items())
    assert all(list(row) == list(COLUMNS) for row in rows)
    assert listed(here(*export).stdout) == list(map(as_text, rows))
    for name in ("runs.csv", "runs.json"):
        assert here(*export, "-o", tmp_path / name).stdout == ""
    assert listed((tmp_path / "runs.csv").read_text()) == list(map(as_text, rows))
    assert json.loads((tmp_path / "runs.json").read_text()) == rows
    refused = here(*export, "--format", "parquet")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "-o" in refused.stderr
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow, which is optional, is not installed")
    done = here(*export, "-o", tmp_path / "runs.parquet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert parquet.read_table(tmp_path / "runs.parquet").to_pylist() == rows


def test_merge(made: Made, here: Any, refused: Any, tmp_path: Path) -> None:
    store = tmp_path / "all.db"
    refused(here("study", "merge", made.store, tmp_path / "gone.db", "--store", store), "gone.db")
    assert not store.exists()
    done = here("study", "merge", made.store, "--store", store)
    count = len(made.rows)
    assert done.stderr.splitlines() == [f"{count} runs taken from {made.store}", f"{store} has {count} runs"]
    assert timeless(stored(store)) == timeless(stored(made.store))
    refused(here("study", "merge", made.store, store, "--store", store), "a store cannot be merged into itself")


def test_init_writes_a_study_that_can_be_read_and_no_second_time(here: Any, refused: Any, tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    done = here("study", "init", file)
    assert (done.returncode, done.stdout) == (0, "")
    assert f"daedal study run {file} --store" in done.stderr
    assert (Study.from_file(file).runs, len(Study.from_file(file).problems)) == (20, 2)
    file.write_text("mine")
    refused(here("study", "init", file), "exists already")
    assert file.read_text() == "mine"
    refused(here("study", "init", tmp_path), "exists already")
    refused(here("study", "init", tmp_path / "nowhere" / "study.toml"), "No such file or directory")


# Bad input

GOOD = 'popsizes = [10]\nproblems = ["onemax:n=8"]\nalgorithms = ["umda"]\n'
BAD_WORDS = [
    ("run WRONG --store NEW", "wrong.toml: unknown algorithm 'udma', did you mean 'umda'?"),
    ("run GONE --store NEW", "cannot read a study as TOML: "),
    ("run GOOD --store NEW --workers 0", "'--workers'"),
    ("run GOOD --store NEW --confirm -1", "'--confirm'"),
    ("run GOOD --store FOLDER/gone/results.db", "no such folder"),
    ("run GOOD", "Missing option '--store'"),
    *((f"{command} --store NEW", "no such file") for command in ("status", "table", "export", "plot")),
    ("table --store MADE --format xml", "xml"),
    ("table --store MADE -o FOLDER", "FOLDER, which is a folder"),
    ("table --store MADE -o /dev/full", "not a plain file"),
    ("table --store MADE -o FOLDER/x.parquet", "parquet is not one of rich, markdown"),
    ("export --store MADE -o FOLDER/x.md", "markdown is not one of csv, json"),
    ("plot --store MADE --problem tarp", "unknown problem of the study 'tarp'"),
    ("plot --store MADE -o GOOD", "good.toml cannot be made: File exists"),
    *((f"{what} --store MADE -o MADE", "--store and --output name the same file") for what in ("table", "export")),
    ("export --store MADE -o LINK", "--store and --output name the same file"),
]


@pytest.mark.parametrize(("words", "says"), BAD_WORDS, ids=[words for words, _ in BAD_WORDS])
def test_bad_words_end_with_one_line(
    words: str, says: str, made: Made, here: Any, refused: Any, tmp_path: Path
) -> None:
    files = {"GOOD": GOOD, "GARBLED": "runs = = 3", "WRONG": GOOD.replace("umda", "udma")}
    stand_for = {name: tmp_path / f"{name.lower()}.toml" for name in (*files, "GONE")}
    stand_for |= {"LINK": tmp_path / "link", "NEW": tmp_path / "new.db", "FOLDER": tmp_path, "MADE": made.store}
    for name, text in files.items():
        stand_for[name].write_text(text)
    stand_for["LINK"].symlink_to(made.store)
    for name, path in stand_for.items():
        words, says = words.replace(name, str(path)), says.replace(name, str(path))
    before, folder = made.store.read_bytes(), sorted(tmp_path.iterdir())
    refused(here("study", *words.split()), says)
    assert made.store.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == folder


# Against accidents


def test_outputs_that_end_early_or_cannot_show_all(made: Made, cli: Any, tmp_path: Path) -> None:
    export = ("study", "export", "--store", made.store)
    reading, writing = os.pipe()
    os.close(reading)  # as in `daedal study export ... | head -1`, before anything is written
    try:
        done = cli(*export, stdout=writing)
    finally:
        os.close(writing)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    done = cli(*export, preexec_fn=lambda: os.close(1))
    assert done.returncode == 2
    assert done.stderr == "error: standard output is closed; name a file with -o\n"
    with (tmp_path / "out").open("w") as file:
        file.write("header\n")
        file.flush()
        assert cli(*export, "-o", "/dev/stdout", stdout=file).returncode == 0
    assert (tmp_path / "out").read_text().startswith("header\nproblem,algorithm,")
    with Store(tmp_path / "results.db") as store:
        problems = [{"name": "\N{GREEK SMALL LETTER ALPHA}", "problem": "onemax:n=5"}]
        store.remember(Study.from_dict({"problems": problems, "algorithms": ["umda"]}))
    done = cli("study", "status", "--store", tmp_path / "results.db", variables={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert r"\u03b1" in done.stdout

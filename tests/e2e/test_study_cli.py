"""`daedal study`: what a study makes of its runs, and every way to look at it."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import shutil
import sqlite3
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import daedal
from daedal.study.analysis import analyse
from daedal.study.spec import Study
from daedal.study.store import Store
from daedal.types import to_text

COLUMNS = [
    *("problem", "algorithm", "preset", "popsize", "seed", "status", "success", "best", "optimum"),
    *("evaluations_to_best", "evaluations", "unique_evaluations", "batches", "generations"),
    *("cpu_seconds_to_best", "cpu_seconds"),
    *("stop", "error", "x", "settings", "content", "daedal", "numpy", "numba", "python", "cpu", "finished"),
    "cell",
]
CLOCK = {"cpu_seconds_to_best", "cpu_seconds", "finished"}

OBJECTIVES = """
def zeros(row):
    assert row.ndim == 1
    if not row.any():
        print("solved")
    return float(row.sum())


def ones(x):
    return x.sum(axis=1)
"""
STUDY = """
runs = 6
seed = 3
popsizes = [8, 16, 32, 64]
problems = [
    "onemax:n=14",
    { name = "[/b] four", problem = "trap:k=4,n=12" },
    { name = "zeros", problem = "mine.py:zeros", n = 10, by_row = true, minimize = true, target = 0 },
]
algorithms = ["umda", { name = "PBIL [fast]", algorithm = "pbil", settings = { learning_rate = 0.3 } }]

[limits]
max_generations = 12
"""


@dataclass(frozen=True)
class Made:
    """A study that was run: its file, its store, what the command wrote, and the rows of the store."""

    folder: Path
    store: Path
    done: Any
    rows: list[dict[str, Any]]


def stored(path: Path) -> list[dict[str, Any]]:
    """Read the runs of a store, past daedal."""
    with sqlite3.connect(path) as connection:
        connection.row_factory = sqlite3.Row
        rows = [dict(row) for row in connection.execute("SELECT * FROM results ORDER BY run")]
    connection.close()
    return rows


def timeless(rows: list[dict[str, Any]]) -> list[str]:
    """Give rows without what the clock says, and in an order that does not depend on who came first."""
    return sorted(json.dumps({key: row[key] for key in row if key not in {*CLOCK, "run"}}) for row in rows)


@pytest.fixture(scope="module")
def made(cli: Any, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A study that was run over one worker, and whose files are gone since: the store has to do alone."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "mine.py").write_text(OBJECTIVES)
    (folder / "study.toml").write_text(STUDY)
    done = cli("study", "run", folder / "study.toml", "--store", folder / "one.db")
    assert done.returncode == 0, done.stderr
    for file in ("mine.py", "study.toml"):
        (folder / file).unlink()
    return Made(folder, folder / "one.db", done, stored(folder / "one.db"))


# The runs


def test_the_number_of_workers_changes_nothing_but_the_clock(made: Made, here: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OBJECTIVES)  # elsewhere, which is no difference either
    (tmp_path / "study.toml").write_text(STUDY)
    done = here("study", "run", tmp_path / "study.toml", "--store", tmp_path / "two.db", "--workers", 2)
    assert done.returncode == 0, done.stderr
    rows = stored(tmp_path / "two.db")
    assert len(rows) > 60
    assert timeless(rows) == timeless(made.rows)
    assert len({(row["content"], row["seed"]) for row in rows}) == len(rows)
    assert sorted(path.name for path in tmp_path.glob("two.db*")) == ["two.db"]  # nothing is left beside it


def test_each_run_is_that_of_its_seed(made: Made) -> None:
    """As `maximize` and `minimize` make it, with nothing known of studies."""
    objectives: dict[str, tuple[Callable[..., daedal.Result], Any, int | None]] = {
        "onemax:n=14": (daedal.maximize, "onemax:n=14", None),
        "[/b] four": (daedal.maximize, "trap:k=4,n=12", None),
        "zeros": (daedal.minimize, lambda x: np.array([float(row.sum()) for row in x]), 10),
    }
    for row in made.rows[::3]:
        optimise, objective, n = objectives[row["problem"]]
        settings = {"learning_rate": 0.3} if row["algorithm"] == "pbil" else {}
        result = optimise(
            objective,
            n,
            algorithm=daedal.algorithms()[row["algorithm"]].with_settings(settings),
            popsize=row["popsize"],
            seed=row["seed"],
            max_generations=12,
            target=0.0 if row["problem"] == "zeros" else None,
        )
        assert (row["status"], row["stop"], row["x"]) == ("done", result.stop.value, to_text(result.x))
        assert (row["best"], row["success"]) == (result.fitness, result.success)
        assert row["unique_evaluations"] == result.carried_out
        for name in ("optimum", "evaluations", "evaluations_to_best", "generations"):
            assert row[name] == getattr(result, name), name


def test_run_shows_its_table_and_says_what_it_did(made: Made, here: Any) -> None:
    said = made.done.stderr.splitlines()
    assert said[-1] == f"{len(made.rows)} runs made; 0 of this study were in {made.store} before"
    assert "solved" in said  # what objectives print is not for standard output
    assert made.done.stdout == here("study", "table", "--store", made.store).stdout
    assert "\x1b" not in made.done.stdout + made.done.stderr


# Tables


def test_the_table_says_what_the_runs_say(made: Made, here: Any) -> None:
    done = here("study", "table", "--store", made.store, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    lines = json.loads(done.stdout)
    names = {"umda": "umda", "PBIL [fast]": "pbil"}
    problems = ["onemax:n=14", "[/b] four", "zeros"]
    pairs = [(problem, algorithm) for problem in problems for algorithm in names]
    assert [(line["problem"], line["algorithm"]) for line in lines[::2]] == pairs
    for line in lines:
        sizes: dict[int, list[dict[str, Any]]] = {}
        for row in made.rows:
            if (row["problem"], row["algorithm"]) == (line["problem"], names[line["algorithm"]]):
                sizes.setdefault(row["popsize"], []).append(row)
        needed = {50: 3, 90: 6}[line["level"]]  # of six
        chosen = next(
            (size for size in sorted(sizes) if sum(row["success"] or 0 for row in sizes[size]) >= needed), None
        )
        assert line["popsize"] == chosen
        if chosen is None:
            assert (line["unsettled"], line["evaluations"]) == ("no size does", None)
            continue
        assert (line["unsettled"], line["failed"]) == (None, 0)
        assert (line["runs"], line["complete"]) == (len(sizes[chosen]), len(sizes[chosen]) == 6)
        effort = [row["evaluations_to_best"] for row in sizes[chosen]]
        assert line["evaluations"] == pytest.approx(statistics.fmean(effort))
        assert line["evaluations_sd"] == pytest.approx(statistics.stdev(effort))
    assert any(line["popsize"] for line in lines)
    assert any(line["popsize"] is None for line in lines)


def test_the_formats_of_a_table(made: Made, here: Any, tmp_path: Path) -> None:
    written = {}
    for form in ("rich", "markdown", "latex", "csv", "json"):
        done = here("study", "table", "--store", made.store, "--format", form)
        assert (done.returncode, done.stderr) == (0, "")
        assert "\x1b" not in done.stdout
        written[form] = done.stdout
        assert here("study", "table", "--store", made.store, "--format", form, "-o", tmp_path / form).stdout == ""
        if form != "rich":  # which is wider in a file than here
            assert (tmp_path / form).read_bytes() == done.stdout.encode()
    assert "PBIL [fast]" in (tmp_path / "rich").read_text(encoding="utf-8")
    for form, name in (("rich", "PBIL [fast]"), ("markdown", r"PBIL \[fast\]"), ("latex", "PBIL {[}fast{]}")):
        assert written[form].count(name) == 3
    listed = json.loads(written["json"])
    read = list(csv.DictReader(io.StringIO(written["csv"], newline="")))
    assert [list(line) for line in read] == [list(line) for line in listed]
    for line, of_csv in zip(listed, read, strict=True):
        assert of_csv == {name: "" if value is None else str(value) for name, value in line.items()}
    assert sum(line.startswith("|") for line in written["markdown"].splitlines()) == 2 + 6
    for part in ("table*", "tabular"):
        assert written["latex"].count(rf"\begin{{{part}}}") == written["latex"].count(rf"\end{{{part}}}") == 1


def test_the_options_of_a_table(made: Made, here: Any, refused: Any) -> None:
    table = ("study", "table", "--store", made.store)
    plain, other, holm = here(*table), here(*table, "--test", "mann-whitney"), here(*table, "--holm")
    assert "signed-rank" in plain.stdout
    assert "Mann-Whitney" in other.stdout
    assert "Holm" in holm.stdout
    assert "Holm" not in plain.stdout
    for form in ("rich", "markdown"):
        sizes = here(*table, "--sizes", "--format", form).stdout
        for size in {row["popsize"] for row in made.rows}:
            assert f" {size} " in sizes
        solved = [
            row for row in made.rows if (row["problem"], row["algorithm"], row["popsize"]) == ("zeros", "umda", 8)
        ]
        assert f" {sum(row['success'] for row in solved)}/{len(solved)} " in sizes
    refused(here(*table, "--sizes", "--format", "latex"), "expected --sizes with --format rich, markdown, csv or json")
    of_json = json.loads(here(*table, "--sizes", "--format", "json").stdout)
    of_csv = list(csv.DictReader(io.StringIO(here(*table, "--sizes", "--format", "csv").stdout, newline="")))
    assert [row["popsize"] for row in of_csv] == [str(row["popsize"]) for row in of_json]
    assert sum(row["runs"] for row in of_json) == len(made.rows)
    assert sum(row["solved"] for row in of_json) == sum(row["success"] for row in made.rows)


@pytest.mark.parametrize("name", ["table.md", "table.TEX", "table.csv", "table.json", "table.txt"])
def test_a_files_name_says_how_to_write_it(name: str, made: Made, here: Any, tmp_path: Path) -> None:
    forms = {".md": "markdown", ".tex": "latex", ".csv": "csv", ".json": "json", ".txt": "rich"}
    form = forms[Path(name).suffix.lower()]
    for words in (("-o", tmp_path / name), ("-o", tmp_path / "plain", "--format", form)):
        assert here("study", "table", "--store", made.store, *words).returncode == 0
    assert (tmp_path / name).read_bytes() == (tmp_path / "plain").read_bytes()


def test_runs_are_exported_as_the_files_name_says(made: Made, here: Any, tmp_path: Path) -> None:
    export = ("study", "export", "--store", made.store)
    assert here(*export, "-o", tmp_path / "runs.json").returncode == 0
    assert len(json.loads((tmp_path / "runs.json").read_text())) == len(made.rows)
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    assert here(*export, "-o", tmp_path / "runs.parquet").returncode == 0
    assert (tmp_path / "runs.parquet").read_bytes()[:4] == b"PAR1"


@pytest.mark.parametrize("command", ["table", "export"])
def test_a_file_that_cannot_be_written(command: str, made: Made, here: Any, refused: Any, tmp_path: Path) -> None:
    for output in (tmp_path / "missing" / "file.csv", tmp_path):
        words = ("study", command, "--store", made.store, "--format", "csv", "-o", output)
        refused(here(*words), f"expected a file to write to at {output}, but it cannot be written: ")
    (tmp_path / "file").touch()
    refused(
        here("study", "plot", "--store", made.store, "-o", tmp_path / "file"),
        f"expected a folder to write to at {tmp_path / 'file'}, but it cannot be made: ",
    )


def test_each_study_of_a_store_can_be_shown(here: Any, refused: Any, tmp_path: Path) -> None:
    path = tmp_path / "results.db"
    studies = [
        Study.from_dict({"runs": 1, "popsizes": [9], "problems": [problem], "algorithms": ["umda"]})
        for problem in ("onemax:n=5", "trap:k=4,n=8")
    ]
    with Store(path) as store:
        for study in studies:
            store.remember(study)
            store.record(study.cells()[0], 0, study.cells()[0].job(0).run())

    def problems(*words: object) -> set[str]:
        done = here("study", "table", "--store", path, "--format", "json", *words)
        assert "--study shows another one: " in done.stderr
        return {row["problem"] for row in json.loads(done.stdout)}

    assert problems() == problems("--study", 2) == {"trap:k=4,n=8"}
    assert problems("--study", 1) == {"onemax:n=5"}
    for command in ("table", "status", "plot"):
        says = f"expected the number of a study in {path}, one of 1, 2, got 3"
        refused(here("study", command, "--store", path, "--study", 3), says)
    rows = json.loads(here("study", "export", "--store", path, "--format", "json").stdout)
    assert [row["cell"] for row in rows] == [study.cells()[0].key for study in studies]


def test_where_nobody_knows_what_solved_means(here: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OBJECTIVES)
    given = {"runs": 2, "popsizes": [9], "problems": [{"problem": "mine.py:ones", "n": 5}], "algorithms": ["umda"]}
    study = Study.from_dict(given, folder=tmp_path)
    with Store(tmp_path / "results.db") as store:
        store.remember(study)
        for seed in study.seeds:
            store.record(study.cells()[0], seed, study.cells()[0].job(seed).run())
    done = here("study", "table", "--store", tmp_path / "results.db", "--format", "json")
    assert [line["popsize"] for line in json.loads(done.stdout)] == [None, None]
    assert "no optimum or target is known" in done.stderr
    assert " ?/2 " in here("study", "table", "--store", tmp_path / "results.db", "--sizes").stdout


def test_status(made: Made, here: Any) -> None:
    done = here("study", "status", "--store", made.store)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"\n{len(made.rows)} runs done, 0 failed, none left: the study is complete\n" in done.stdout
    assert "\x1b" not in done.stdout
    assert "[/b] four" in done.stdout
    assert "PBIL [fast]" in done.stdout
    found = json.loads(here("study", "status", "--store", made.store, "--json").stdout)
    assert (found["done"], found["failed"], found["left"]) == (len(made.rows), 0, 0)
    assert sum(cell["solved"] for cell in found["cells"]) == sum(row["success"] or 0 for row in made.rows)


# Everything, for other programs


def test_export(made: Made, here: Any, tmp_path: Path) -> None:
    names = {"umda": "umda", "pbil": "PBIL [fast]"}
    rows_and_cells = [
        row
        | {"cell": hashlib.sha256(row["content"].encode()).hexdigest()}
        | {"algorithm": names[row["algorithm"]], "preset": row["algorithm"]}
        for row in made.rows
    ]
    expected = [{name: row.get(name) for name in COLUMNS} for row in rows_and_cells]
    for row in expected:
        row["success"] = None if row["success"] is None else bool(row["success"])
    export = ("study", "export", "--store", made.store)
    done = here(*export, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    rows = json.loads(done.stdout)
    assert rows == expected
    assert all(list(row) == COLUMNS for row in rows)
    done = here(*export)
    assert (done.returncode, done.stderr) == (0, "")
    read = list(csv.DictReader(io.StringIO(done.stdout, newline="")))
    assert read == [{name: "" if value is None else str(value) for name, value in row.items()} for row in expected]
    assert here(*export, "-o", tmp_path / "runs.csv").stdout == ""
    assert (tmp_path / "runs.csv").read_bytes() == done.stdout.encode()


def test_export_to_parquet(made: Made, here: Any, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow, which is optional, is not installed")
    done = here("study", "export", "--store", made.store, "--format", "parquet", "-o", tmp_path / "runs.parquet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert parquet.read_table(tmp_path / "runs.parquet").to_pylist() == json.loads(
        here("study", "export", "--store", made.store, "--format", "json").stdout
    )


def test_an_export_that_cannot_be_made_leaves_the_file_alone(
    made: Made, here: Any, refused: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "runs.parquet").write_text("of last week")
    done = here("study", "export", "--store", made.store, "--format", "parquet", "-o", tmp_path / "runs.parquet")
    refused(done, 'pip install "daedal[parquet]"')
    assert (tmp_path / "runs.parquet").read_text() == "of last week"


def test_plot(made: Made, here: Any, refused: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib, which is optional, is not installed")
    plot = ("study", "plot", "--store", made.store, "-o", tmp_path / "new" / "figures")
    done = here(*plot, "--problem", "zeros", "--problem", "[/b] four")
    assert (done.returncode, done.stdout) == (0, "")
    written = sorted((tmp_path / "new" / "figures").iterdir())
    assert [path.name for path in written] == ["b-four.png", "b-four.svg", "zeros.png", "zeros.svg"]
    assert sorted(done.stderr.splitlines()) == list(map(str, written))
    for path in written:
        if path.suffix == ".svg":
            assert ElementTree.parse(path).getroot().tag == "{http://www.w3.org/2000/svg}svg"
        else:
            assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    refused(here(*plot, "--problem", "ones"), "unknown problem of the study 'ones'")


def test_a_reader_that_stops_reading_is_no_error(made: Made, cli: Any) -> None:
    """As in `daedal study export ... | head -1`: one pipe's end is closed before anything is written."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = cli("study", "export", "--store", made.store, stdout=writing)
    finally:
        os.close(writing)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


# What comes later


def test_only_what_is_new_is_run(made: Made, here: Any, tmp_path: Path) -> None:
    store = tmp_path / "results.db"
    shutil.copy(made.store, store)
    (tmp_path / "mine.py").write_text(OBJECTIVES)
    run = ("study", "run", tmp_path / "study.toml", "--store", store)
    before = len(made.rows)

    (tmp_path / "study.toml").write_text(STUDY)
    done = here(*run)
    assert done.stderr.splitlines()[-1] == f"nothing was left to run; {before} of this study were in {store} before"
    assert stored(store) == made.rows

    more = STUDY.replace("runs = 6", "runs = 8").replace('    "onemax:n=14",', '    "onemax:n=14",\n    "onemax:n=5",')
    (tmp_path / "study.toml").write_text(more)
    done = here(*run, "--workers", 2)
    rows = stored(store)
    assert (
        done.stderr.splitlines()[-1] == f"{len(rows) - before} runs made; {before} of this study were in {store} before"
    )
    assert rows[:before] == made.rows  # to the last digit of their clocks
    new = rows[before:]
    assert {row["seed"] for row in new if row["problem"] == "onemax:n=5"} == set(range(3, 11))
    assert {row["seed"] for row in new if row["problem"] != "onemax:n=5"} <= {9, 10, *range(3, 9)}
    assert any(row["problem"] != "onemax:n=5" for row in new)
    assert len({(row["content"], row["seed"]) for row in rows}) == len(rows)

    done = here(*run, "--confirm", 2, "--full-grid")
    last = stored(store)
    assert (
        done.stderr.splitlines()[-1]
        == f"{len(last) - len(rows)} runs made; {len(rows)} of this study were in {store} before"
    )
    assert last[: len(rows)] == rows
    own = [row for row in last if row["seed"] < 1_000_000]
    assert len(own) == 4 * 2 * 4 * 8  # the whole grid
    lines = json.loads(here("study", "table", "--store", store, "--format", "json").stdout)
    confirmed = {(line["problem"], line["algorithm"], line["popsize"]) for line in lines if line["popsize"] is not None}
    assert len(last) - len(own) == 2 * len(confirmed)
    assert {row["seed"] for row in last} - {row["seed"] for row in own} == {1_000_003, 1_000_004}
    assert all(line["confirmed_runs"] == 2 for line in lines if line["popsize"] is not None)
    assert "again" in done.stdout


def test_init_writes_a_study_that_can_be_read_and_no_second_time(here: Any, refused: Any, tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    done = here("study", "init", file)
    assert (done.returncode, done.stdout) == (0, "")
    assert f"daedal study run {file} --store" in done.stderr
    study = Study.from_file(file)
    assert (study.runs, len(study.problems), len(study.algorithms)) == (20, 2, 3)
    file.write_text("mine")
    refused(here("study", "init", file), "is there already; it was not changed")
    assert file.read_text() == "mine"
    refused(here("study", "init", tmp_path), "is there already")
    refused(here("study", "init", tmp_path / "nowhere" / "study.toml"), "No such file or directory")


# Bad input

GOOD = 'popsizes = [10]\nproblems = ["onemax:n=8"]\nalgorithms = ["umda"]\n'
BAD_FILES = {
    "garbled": ("runs = = 3", "expected a study as TOML in "),
    "not text": ("\udcff\udcfe", "expected a study as TOML in "),
    "empty": ("", "expected problems to be a list of at least one"),
    "algorithm": (GOOD.replace("umda", "udma"), "unknown algorithm 'udma', did you mean 'umda'?"),
    "problem": (GOOD.replace("onemax", "onemacs"), "unknown problem 'onemacs', did you mean 'onemax'?"),
    "key": (f"popsize = [10]\n{GOOD}", "unknown key of a study 'popsize', did you mean 'popsizes'?"),
    "key of limits": (f"{GOOD}limits = {{ max_evaluation = 3 }}", "did you mean 'max_evaluations'?"),
    "key of a problem": (
        GOOD.replace('"onemax:n=8"', '{ problem = "onemax:n=8", minimise = true }'),
        "unknown key of a problem 'minimise', did you mean 'minimize'?",
    ),
    "setting": (GOOD.replace('"umda"', '{ algorithm = "pbil", settings = { rate = 1 } }'), "unknown setting of pbil"),
    "no popsizes": (GOOD.replace("[10]", "[]"), "expected popsizes to be a list of at least one size, got popsizes=[]"),
    "popsize": (GOOD.replace("[10]", "[1]"), "of at least 2"),
    "huge popsize": (GOOD.replace("[10]", f"[{10**20}]"), str(10**20)),
    "runs": (f"runs = 0\n{GOOD}", "expected runs to be a whole number of at least 1, got runs=0"),
    "seed": (f"seed = -1\n{GOOD}", "expected a seed"),
    "twice": (GOOD.replace('"umda"', '"umda", "umda"'), "got 'umda' twice"),
    "no such file": (GOOD.replace('"onemax:n=8"', '{ problem = "gone.py:f", n = 3 }'), "gone.py"),
    "no n": (GOOD.replace('"onemax:n=8"', '"mine.py:ones"'), "the number of variables"),
    "another n": (GOOD.replace('"onemax:n=8"', '{ problem = "onemax:n=8", n = 9 }'), "expected n=8"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_study_file_makes_no_store(case: str, here: Any, refused: Any, tmp_path: Path) -> None:
    text, says = BAD_FILES[case]
    (tmp_path / "mine.py").write_text(OBJECTIVES)
    (tmp_path / "study.toml").write_bytes(text.encode(errors="surrogateescape"))
    done = here("study", "run", tmp_path / "study.toml", "--store", tmp_path / "results.db")
    refused(done, says)
    assert "study.toml" in done.stderr
    assert list(tmp_path.glob("results.db*")) == []


BAD_WORDS = [
    ("run GONE --store NEW", "expected a study in "),
    ("run FOLDER --store NEW", "expected a study in "),
    ("run GOOD --store NEW --workers 0", "expected --workers of at least 1, got --workers 0"),
    ("run GOOD --store NEW --workers two", "--workers"),
    ("run GOOD --store NEW --confirm -1", "expected --confirm of 0 to 100,000, got --confirm -1"),
    ("run GOOD --store FOLDER/gone/results.db", "there is no folder"),
    ("run GOOD", "Missing option '--store'"),
    ("run --store NEW", "Missing argument"),
    ("status --store NEW", "got no such file"),
    ("table --store NEW", "got no such file"),
    ("export --store NEW", "got no such file"),
    ("plot --store NEW", "got no such file"),
    ("table --store MADE --format xml", "xml"),
    ("table --store MADE --test student", "student"),
    ("table --store MADE -o FOLDER", "Is a directory"),
    ("table --store MADE -o /dev/full", "No space left on device"),
    ("export --store MADE --format xml", "xml"),
    ("export --store MADE -o FOLDER/gone/runs.csv", "No such file"),
    ("plot --store MADE --problem tarp", "unknown problem of the study 'tarp'"),
    ("plot --store MADE -o GOOD", "File exists"),
    ("tables --store MADE", "tables"),
]


@pytest.mark.parametrize(("words", "says"), BAD_WORDS, ids=[words for words, _ in BAD_WORDS])
def test_bad_words_end_with_one_line(
    words: str, says: str, made: Made, here: Any, refused: Any, tmp_path: Path
) -> None:
    (tmp_path / "good.toml").write_text(GOOD)
    stand_for = {"GOOD": tmp_path / "good.toml", "NEW": tmp_path / "new.db", "GONE": tmp_path / "gone.toml"}
    stand_for |= {"FOLDER": tmp_path, "MADE": made.store}
    for name, path in stand_for.items():
        words = words.replace(name, str(path))
    before = made.store.read_bytes()
    refused(here("study", *words.split()), says)
    assert made.store.read_bytes() == before
    assert list(tmp_path.iterdir()) == [tmp_path / "good.toml"]


# Against accidents


@pytest.mark.parametrize("command", ["table", "export"])
def test_the_store_is_not_written_over(command: str, made: Made, here: Any, refused: Any, tmp_path: Path) -> None:
    store, link = tmp_path / "results.db", tmp_path / "link.db"
    shutil.copy(made.store, store)
    link.symlink_to(store)
    before = store.read_bytes()
    for output in (store, link, tmp_path / "." / "results.db"):
        refused(
            here("study", command, "--store", store, "-o", output), "expected another file to write to than the store"
        )
    assert store.read_bytes() == before


def test_what_was_written_before_stays_until_all_is_there(made: Made, here: Any, refused: Any, tmp_path: Path) -> None:
    store, output = tmp_path / "results.db", tmp_path / "runs.csv"
    output.write_text("of last year")
    shutil.copy(made.store, store)
    data = bytearray(store.read_bytes())
    data[-8000:] = b"\xff" * 8000  # the last pages, which an export comes to in the end
    store.write_bytes(data)
    refused(here("study", "export", "--store", store, "-o", output), "damaged")
    assert output.read_text() == "of last year"
    assert sorted(path.name for path in tmp_path.glob("*runs*")) == ["runs.csv"]


def test_a_damaged_store_is_called_so(made: Made, tmp_path: Path) -> None:
    """Whatever was turned over in it: an answer, or an error that the command line shows in one line."""
    whole, path = made.store.read_bytes(), tmp_path / "results.db"
    rng = np.random.default_rng(1)
    refusals = 0
    for _ in range(150):
        data = bytearray(whole)
        for place in rng.integers(len(data), size=rng.choice([1, 3, 30])):
            data[place] = rng.integers(256)
        path.write_bytes(data)
        try:
            with Store(path, create=False) as store:
                study, confirm, _ = store.study()
                analyse(study, store.runs(), confirm=confirm)
                list(store.rows())
        except (ValueError, TypeError, OSError):
            refusals += 1
    assert refusals > 20


def test_figures_of_like_names_are_kept_apart(here: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra plot is not installed")
    names = ["a b", "a-b", "A b", "a-b-2", "\N{GREEK SMALL LETTER ALPHA}", "β", "β" * 300]
    problems = [{"name": name, "problem": f"onemax:n={4 + index}"} for index, name in enumerate(names)]
    with Store(tmp_path / "results.db") as store:
        store.remember(Study.from_dict({"runs": 1, "popsizes": [9], "problems": problems, "algorithms": ["umda"]}))
    assert here("study", "plot", "--store", tmp_path / "results.db", "-o", tmp_path / "figures").returncode == 0
    found = sorted(path.name for path in (tmp_path / "figures").glob("*.svg"))
    assert found == [
        *("A-b-3.svg", "a-b-2-2.svg", "a-b-2.svg", "a-b.svg", "\N{GREEK SMALL LETTER ALPHA}.svg", "β.svg"),
        "β" * 60 + ".svg",
    ]


def test_a_closed_output_is_named(made: Made, cli: Any) -> None:
    done = cli("study", "export", "--store", made.store, preexec_fn=lambda: os.close(1))
    assert done.returncode == 2
    assert done.stderr == "error: expected a standard output to write to, but it is closed; name a file with -o\n"


def test_what_a_terminal_cannot_show_is_no_reason_to_end(cli: Any, tmp_path: Path) -> None:
    study = Study.from_dict(
        {
            "runs": 1,
            "popsizes": [9],
            "problems": [{"name": "\N{GREEK SMALL LETTER ALPHA}", "problem": "onemax:n=5"}],
            "algorithms": ["umda"],
        }
    )
    with Store(tmp_path / "results.db") as store:
        store.remember(study)
    for command in ("table", "status"):
        done = cli("study", command, "--store", tmp_path / "results.db", variables={"PYTHONIOENCODING": "ascii"})
        assert done.returncode == 0, done.stderr
        assert r"\u03b1" in done.stdout


@pytest.mark.parametrize(
    ("problem", "algorithm", "says"),
    [
        (f"{{ problem = 'onemax:n=5', target = 1{'0' * 400} }}", "'umda'", "expected target to be a number"),
        ("'onemax:n=5'", f"{{ algorithm = 'pbil', settings = {{ learning_rate = 1{'0' * 400} }} }}", "learning_rate"),
        ("[" * 2000, "'umda'", "it is nested too deeply"),
    ],
    ids=["target", "setting", "nested"],
)
def test_numbers_and_tables_beyond_all_bounds(
    problem: str, algorithm: str, says: str, here: Any, refused: Any, tmp_path: Path
) -> None:
    (tmp_path / "study.toml").write_text(f"problems = [{problem}]\nalgorithms = [{algorithm}]\n")
    refused(here("study", "run", tmp_path / "study.toml", "--store", tmp_path / "results.db"), says)
    assert not (tmp_path / "results.db").exists()


@pytest.mark.parametrize("confirm", [100_001, 10**30, -1])
def test_confirming_runs_are_bounded(confirm: int, made: Made, here: Any, refused: Any, tmp_path: Path) -> None:
    words = ("study", "run", made.folder / "study.toml", "--store", tmp_path / "results.db", "--confirm", confirm)
    refused(here(*words), "expected --confirm of 0 to 100,000")
    assert not (tmp_path / "results.db").exists()


def test_merge(made: Made, here: Any, refused: Any, tmp_path: Path) -> None:
    store = tmp_path / "all.db"
    refused(here("study", "merge", made.store, tmp_path / "gone.db", "--store", store), "gone.db")
    assert not store.exists()
    done = here("study", "merge", made.store, "--store", store)
    assert done.stderr.splitlines() == [
        f"{len(made.rows)} runs taken from {made.store}",
        f"{store} has {len(made.rows)} runs",
    ]
    assert timeless(stored(store)) == timeless(made.rows)
    for words in (("table", "--format", "csv"), ("status",)):
        assert here("study", *words, "--store", store).stdout == here("study", *words, "--store", made.store).stdout
    refused(here("study", "merge", made.store, store, "--store", store), f"expected other stores than {store} itself")


def test_a_file_stays_what_it_was_but_for_its_content(made: Made, here: Any, tmp_path: Path) -> None:
    output, link = tmp_path / "private.csv", tmp_path / "link.csv"
    output.write_text("of last year")
    output.chmod(0o600)
    link.hardlink_to(output)
    assert here("study", "export", "--store", made.store, "-o", output).returncode == 0
    assert output.stat().st_mode & 0o777 == 0o600
    assert link.read_bytes() == output.read_bytes()


def test_standard_output_by_its_name(made: Made, cli: Any, tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as file:
        file.write("header\n")
        file.flush()
        done = cli("study", "export", "--store", made.store, "-o", "/dev/stdout", stdout=file)
    assert done.returncode == 0
    assert (tmp_path / "out").read_text().startswith("header\nproblem,algorithm,")


def test_other_names_are_refused(made: Made, here: Any, refused: Any, tmp_path: Path) -> None:
    for end in ("-wal", "-shm", "-journal", ".lock"):
        output = made.store.with_name(made.store.name + end)
        refused(here("study", "table", "--store", made.store, "-o", output), "expected another file to write to")
    refused(
        here("study", "table", "--store", made.store, "-o", tmp_path / "x.parquet"), "expected a file that ends in .md"
    )
    refused(
        here("study", "export", "--store", made.store, "-o", tmp_path / "x.md"), "expected a file that ends in .csv"
    )

"""`daedal reproduce`: the paper's table and figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from study_helpers import stored

import daedal
from daedal.problems import NK, write_nk
from daedal.studies.paper import published

PART = ("--problem", "trap:k=4,n=20", "--algorithm", "BOA", "--runs", 3, "--max-popsize", 500, "--workers", 1)


def test_a_row_of_table_1_with_the_papers_numbers_beside_it(here: Any, tmp_path: Path) -> None:
    store = tmp_path / "results.db"
    done = here("reproduce", "table1", *PART, "--store", store, "--format", "json")
    assert done.returncode == 0, done.stderr
    lines = json.loads(done.stdout)
    paper = published()["trap:k=4,n=20", "BOA"]
    for line, level in zip(lines, (50, 90), strict=True):
        assert (line["problem"], line["algorithm"], line["level"]) == ("trap:k=4,n=20", "BOA", level)
        theirs = paper[level]
        assert theirs is not None
        assert line["published_evaluations_to_best"] == theirs.evaluations_to_best.mean
        assert line["published_cpu_seconds_to_best"] == theirs.cpu_seconds_to_best.mean
        assert line["ratio"] == pytest.approx(line["evaluations_to_best"] / theirs.evaluations_to_best.mean)
        size = line["popsize"]
        runs = [daedal.maximize("trap:k=4,n=20", algorithm="boa", popsize=size, seed=seed) for seed in range(3)]
        assert line["solved"] == sum(run.success is True for run in runs) >= {50: 2, 90: 3}[level]
        assert line["evaluations_to_best"] == pytest.approx(sum(run.evaluations_to_best for run in runs) / 3)

    again = here("reproduce", "table1", *PART, "--store", store, "--format", "json")
    assert "nothing was left to run" in again.stderr
    assert again.stdout == done.stdout == here("study", "table", "--store", store, "--format", "json").stdout
    text = here("reproduce", "table1", *PART, "--store", store).stdout
    assert "1,850" in text  # evaluations that the paper has
    assert "2015" in text  # and where they come from
    assert "1,850" in here("reproduce", "table1", *PART, "--store", store, "--format", "markdown", "--holm").stdout


def test_a_landscape_of_the_paper_is_taken_from_its_folder(here: Any, tmp_path: Path) -> None:
    landscape, store = NK.random(n=30, k=4, seed=77), tmp_path / "results.db"
    write_nk(landscape, tmp_path / "nk_30_4.1")
    words = ("--problem", "nk:n=30,k=4,i=1", "-a", "pbil", "--runs", 1, "--max-popsize", 50, "--workers", 1)
    done = here("reproduce", "table1", *words, "--nk-dir", tmp_path, "--store", store, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert {line["spec"] for line in json.loads(done.stdout)} == {"nk:nk_30_4.1"}
    (row,) = stored(store).values()
    assert row["optimum"] == pytest.approx(landscape.optimum)
    assert row["best"] == pytest.approx(landscape.evaluate(daedal.types.from_text(row["x"])[None])[0])


def test_the_figures(here: Any, tmp_path: Path) -> None:
    pytest.importorskip("resvg_py", reason="resvg, which is optional, is not installed")
    words = ("--runs", 1, "--max-popsize", 50, "--algorithm", "BOA", "--store", tmp_path / "figures.db", "--workers", 1)
    done = here("reproduce", "figures", *words, "-o", tmp_path / "figures")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    starts = {path.name: path.read_bytes()[:4] for path in (tmp_path / "figures").iterdir()}
    names = [f"{name}{kind}" for name in ("nk-n34-k4-i1", "trap-k5-n75") for kind in ("", "-convergence")]
    assert starts == {f"{n}.{form}": start for n in names for form, start in (("png", b"\x89PNG"), ("svg", b"<?xm"))}


BAD = [
    ("table1 --problem tarp", "unknown problem of Table 1 'tarp'. Known: hiff:n=128, hiff:n=64, nk:"),
    ("figures --algorithm umda", "unknown algorithm of Table 1 'umda'"),
    ("table1 --problem hiff --nk-dir GONE", "GONE is not a folder with NK landscapes"),
    ("table1 --nk-dir FILE", "FILE is not a folder with NK landscapes"),
    ("table1 --max-popsize 10", "smallest popsize of DAE-EDA is 50, got at most 10"),
    ("table1 --runs 0", "--runs"),
    ("figures --runs 200000000", "at most 1,000,000 runs"),
    ("figures --output FILE", "the folder FILE cannot be made"),
    ("table1 --workers 0", "'--workers'"),
    ("table1 --confirm -1", "'--confirm'"),
    ("table1 --format xml", "xml"),
    ("table2", "table2"),
]


@pytest.mark.parametrize(("words", "says"), BAD, ids=[words for words, _ in BAD])
def test_bad_input_ends_with_one_line_and_makes_no_store(
    words: str, says: str, here: Any, refused: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where the store would be
    (tmp_path / "FILE").touch()
    refused(here("reproduce", *words.split()), says)
    assert list(tmp_path.iterdir()) == [tmp_path / "FILE"]

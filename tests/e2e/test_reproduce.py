"""`daedal reproduce`: the paper's table and figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import daedal
from daedal.problems import NK, write_nk
from daedal.study.published import published
from daedal.study.store import Store

PART = ("--problem", "trap:k=4,n=20", "--algorithm", "BOA", "--runs", 3, "--max-popsize", 500)


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
        assert (line["published_evaluations"], line["published_seconds"]) == (
            theirs.evaluations.mean,
            theirs.seconds.mean,
        )
        assert line["ratio"] == pytest.approx(line["evaluations"] / theirs.evaluations.mean)
        runs = [
            daedal.maximize("trap:k=4,n=20", algorithm="boa", popsize=line["popsize"], seed=seed) for seed in range(3)
        ]
        assert line["solved"] == sum(run.success is True for run in runs) >= {50: 2, 90: 3}[level]
        assert line["evaluations"] == pytest.approx(sum(run.evaluations_to_best for run in runs) / 3)

    again = here("reproduce", "table1", *PART, "--store", store, "--format", "json")
    assert "nothing was left to run" in again.stderr
    assert again.stdout == done.stdout == here("study", "table", "--store", store, "--format", "json").stdout
    text = here("reproduce", "table1", *PART, "--store", store).stdout
    assert "1,850" in text  # evaluations that the paper has
    assert "2015" in text  # and where they come from
    markdown = here("reproduce", "table1", *PART, "--store", store, "--format", "markdown", "--holm").stdout
    assert "1,850" in markdown


def test_a_landscape_of_the_paper_is_taken_from_its_folder(here: Any, tmp_path: Path) -> None:
    landscape = NK.random(n=30, k=4, seed=77)
    write_nk(landscape, tmp_path / "nk_30_4.1")
    words = ("--problem", "nk:n=30,k=4,i=1", "-a", "pbil", "--runs", 1, "--max-popsize", 50, "--nk-dir", tmp_path)
    done = here("reproduce", "table1", *words, "--store", tmp_path / "results.db", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert {(line["problem"], line["spec"]) for line in json.loads(done.stdout)} == {
        ("nk:n=30,k=4,i=1", "nk:nk_30_4.1")
    }
    with Store(tmp_path / "results.db") as store:
        (row,) = store.rows()
    assert row["optimum"] == pytest.approx(landscape.optimum)
    assert row["best"] == pytest.approx(landscape.evaluate(daedal.types.from_text(row["x"])[None])[0])


def test_the_figures(here: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib, which is optional, is not installed")
    words = ("--runs", 1, "--max-popsize", 50, "--algorithm", "BOA", "--store", tmp_path / "figures.db")
    done = here("reproduce", "figures", *words, "-o", tmp_path / "figures")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    names = [f"{name}.{form}" for name in ("nk-n34-k4-i1", "trap-k5-n75") for form in ("png", "svg")]
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == names
    for name in names:
        start = (tmp_path / "figures" / name).read_bytes()[:40]
        assert start.startswith(b"\x89PNG" if name.endswith("png") else b"<?xml")


BAD = [
    (("table1", "--problem", "tarp"), "unknown problem of Table 1 'tarp'. Known: hiff:n=128, hiff:n=64, nk:"),
    (
        ("table1", "--problem", "trap:k=4,n=24"),
        "unknown problem of Table 1 'trap:k=4,n=24', did you mean 'trap:k=4,n=",
    ),
    (
        ("table1", "--algorithm", "boaa"),
        "unknown algorithm of Table 1 'boaa', did you mean 'BOA'? Known: BOA, DAE-EDA, PBIL, RBM-EDA",
    ),
    (("table1", "--algorithm", "umda"), "unknown algorithm of Table 1 'umda'"),
    (("figures", "--algorithm", "umda"), "unknown algorithm of Table 1 'umda'"),
    (("table1", "--nk-dir", "GONE"), "expected a folder with NK landscapes such as nk_30_4.1 at GONE, found none"),
    (("table1", "--problem", "nk", "--nk-dir", "FILE"), "expected a folder with NK landscapes"),
    (("table1", "--max-popsize", "10"), "expected a largest popsize of at least 50, the smallest of DAE-EDA, got 10"),
    (("table1", "--problem", "hiff", "--nk-dir", "GONE"), "expected a folder with NK landscapes"),
    (("table1", "--runs", "0"), "--runs"),
    (("table1", "--runs", "200000000"), "expected at most 1000000 runs"),
    (("figures", "--runs", "200000000"), "expected at most 1000000 runs"),
    (("figures", "--output", "FILE"), "expected a folder to write to at FILE, but it cannot be made"),
    (("table1", "--workers", "0"), "expected --workers of at least 1, got --workers 0"),
    (("table1", "--confirm", "-1"), "expected --confirm of 0 to 100,000, got --confirm -1"),
    (("table1", "--format", "xml"), "xml"),
    (("figures", "--workers", "-1"), "expected --workers of at least 1, got --workers -1"),
    (("table2",), "table2"),
]


@pytest.mark.parametrize(("words", "says"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_bad_input_ends_with_one_line_and_makes_no_store(
    words: tuple[str, ...], says: str, here: Any, refused: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where the store would be
    (tmp_path / "FILE").touch()
    refused(here("reproduce", *words), says)
    assert list(tmp_path.iterdir()) == [tmp_path / "FILE"]


def test_a_file_that_is_not_the_papers_landscape_is_refused(here: Any, refused: Any, tmp_path: Path) -> None:
    path, words = (
        tmp_path / "nk_30_4.1",
        ("reproduce", "table1", "--nk-dir", tmp_path, "--store", tmp_path / "repro.db"),
    )
    path.write_text("garbage\n")
    refused(here(*words), f"{path}, line 1: ")
    write_nk(NK.random(20, 2, 1), path)
    refused(here(*words), f"expected a landscape of n=30, k=4 in {path}, got one of n=20, k=2")
    assert not (tmp_path / "repro.db").exists()

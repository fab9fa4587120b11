"""Studies with budgets, from the file to every way to look at the results."""

from __future__ import annotations

import csv
import io
import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_helpers import Refused
from scipy import stats
from study_helpers import Inline, stored

import daedal
from daedal.studies.runner import Order, run_study
from daedal.studies.spec import Study
from daedal.studies.store import COLUMNS, Store
from daedal.studies.tables import BUDGETS

STUDY = """
runs = 8
budgets = [100, 300]
problems = ["onemax:n=16", "trap:k=4,n=12"]
algorithms = [{ algorithm = "umda", popsizes = [20] }, { name = "PBIL", algorithm = "pbil", popsizes = [10] }]
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the runs of the study."""
    folder = tmp_path_factory.mktemp("budgets")
    (folder / "study.toml").write_text(STUDY)
    with Store(folder / "results.db") as opened:
        run_study(Study.from_file(folder / "study.toml"), opened, Order(workers=3), pool=Inline())
    return folder / "results.db"


def test_each_run_is_that_of_its_seed_with_its_budget(store: Path) -> None:
    rows = stored(store).values()
    for row in [row for row in rows if row["problem"] == "trap:k=4,n=12"][::3]:
        how = {"algorithm": row["preset"], "popsize": row["popsize"], "seed": row["seed"]}
        result = daedal.maximize("trap:k=4,n=12", max_evaluations=row["budget"], **how)
        expected = (result.fitness, result.evaluations, result.stop.value)
        assert (row["best"], row["evaluations"], row["stop"]) == expected
        assert row["evaluations"] <= row["budget"]


def test_the_table_has_what_the_runs_say(store: Path, here: Any) -> None:
    lines = json.loads(here("study", "table", "--store", store, "--format", "json").stdout)
    assert [list(line) for line in lines] == [[column.name for column in BUDGETS]] * 8
    found: dict[tuple[Any, ...], dict[int, float]] = {}
    for line in lines:
        place = tuple(line[name] for name in ("problem", "budget", "algorithm"))
        of_cell = [row for row in stored(store).values() if (row["problem"], row["budget"], row["algorithm"]) == place]
        best, evaluations = [row["best"] for row in of_cell], [row["evaluations"] for row in of_cell]
        found[place] = {row["seed"]: row["best"] for row in of_cell}
        assert (line["runs"], line["complete"], line["failed"]) == (8, True, 0)
        assert (line["best"], line["best_sd"]) == pytest.approx((statistics.fmean(best), statistics.stdev(best)))
        quartiles = [line[name] for name in ("q1", "median", "q3")]
        assert quartiles == pytest.approx(np.percentile(best, [25, 50, 75]).tolist())
        solved = sum(row["success"] for row in of_cell)
        assert line["solved"] == solved
        assert line["ert"] == (pytest.approx(sum(evaluations) / solved) if solved else None)
    for line in lines:
        pair = [found[line["problem"], line["budget"], name] for name in ("umda", "PBIL")]
        one, other = ([of_one[seed] for seed in range(8)] for of_one in pair)
        assert line["best_p"] == pytest.approx(stats.wilcoxon(one, other).pvalue if one != other else 1.0)


def test_every_way_to_look_at_it(store: Path, here: Any, tmp_path: Path) -> None:
    for form, sign in (("rich", "mean best"), ("markdown", "| mean best |"), ("latex", r"\begin{longtable}")):
        done = here("study", "table", "--store", store, "--format", form)
        assert (done.returncode, done.stderr) == (0, "")
        for word in (sign, "onemax:n=16", "trap:k=4,n=12", "PBIL", "all problems"):
            assert word in done.stdout
    exported = list(csv.DictReader(io.StringIO(here("study", "export", "--store", store).stdout)))
    assert list(exported[0]) == list(COLUMNS)
    assert sorted(row["budget"] for row in exported) == ["100"] * 32 + ["300"] * 32
    status = json.loads(here("study", "status", "--store", store, "--json").stdout)
    assert (status["done"], status["left"]) == (64, 0)
    assert [cell["budget"] for cell in status["cells"]] == [100, 300] * 4
    assert "budget" in here("study", "status", "--store", store).stdout
    pytest.importorskip("matplotlib")
    done = here("study", "plot", "--store", store, "-o", tmp_path / "figures", "--problem", "onemax:n=16")
    assert done.returncode == 0, done.stderr
    names = ("anytime.png", "anytime.svg", "onemax-n16-convergence.png", "onemax-n16-convergence.svg")
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == list(names)


def test_what_makes_no_sense_with_budgets_is_one_line(store: Path, here: Any, refused: Refused, tmp_path: Path) -> None:
    refused(here("study", "table", "--store", store, "--sizes"), "leave out --sizes")
    (tmp_path / "study.toml").write_text(STUDY)
    run = ("study", "run", tmp_path / "study.toml", "--store", tmp_path / "new.db", "--confirm", 5)
    refused(here(*run), "leave out --confirm")

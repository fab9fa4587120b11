"""Studies with budgets, from the file to every way to look at the results."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import Refused
from study_helpers import Inline

from daedal.studies.runner import Order, run_study
from daedal.studies.spec import Study
from daedal.studies.store import COLUMNS, Store

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
    pytest.importorskip("resvg_py", reason="resvg, which is optional, is not installed")
    done = here("study", "plot", "--store", store, "-o", tmp_path / "figures", "--problem", "onemax:n=16")
    assert done.returncode == 0, done.stderr
    names = ("anytime.png", "anytime.svg", "onemax-n16-convergence.png", "onemax-n16-convergence.svg")
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == list(names)


def test_what_makes_no_sense_with_budgets_is_one_line(store: Path, here: Any, refused: Refused, tmp_path: Path) -> None:
    refused(here("study", "table", "--store", store, "--sizes"), "leave out --sizes")
    (tmp_path / "study.toml").write_text(STUDY)
    run = ("study", "run", tmp_path / "study.toml", "--store", tmp_path / "new.db", "--confirm", 5)
    refused(here(*run), "leave out --confirm")

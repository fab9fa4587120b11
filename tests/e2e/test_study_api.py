"""Studies from Python: the same runs, tables and figures as the command's, in the same stores."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import Cli
from study_helpers import stored, timeless

import daedal
from daedal.studies.store import Store

PARTS: dict[str, Any] = {
    "problems": ["onemax:n=12", {"name": "cost", "problem": "trap:k=3,n=6", "minimize": True, "target": 0}],
    "algorithms": ["umda", {"name": "slow PBIL", "algorithm": "pbil", "settings": {"learning_rate": 0.02}}],
    "popsizes": [10, 40],
    "runs": 3,
    "limits": {"max_generations": 6},
}
TOML = """
problems = ["onemax:n=12", { name = "cost", problem = "trap:k=3,n=6", minimize = true, target = 0 }]
algorithms = ["umda", { name = "slow PBIL", algorithm = "pbil", settings = { learning_rate = 0.02 } }]
popsizes = [10, 40]
runs = 3
limits = { max_generations = 6 }
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> daedal.StoredStudy:
    """A study that was run from Python."""
    return daedal.study(**PARTS, store=tmp_path_factory.mktemp("study") / "results.db").run(workers=2)


def test_the_command_makes_the_same_runs_and_shows_the_same(
    made: daedal.StoredStudy, here: Cli, tmp_path: Path
) -> None:
    (tmp_path / "study.toml").write_text(TOML)
    done = here("study", "run", tmp_path / "study.toml", "--store", tmp_path / "theirs.db", "--workers", 1)
    assert done.returncode == 0, done.stderr
    assert timeless(stored(tmp_path / "theirs.db")) == timeless(stored(made.store))
    table = made.table()
    for form, ours in {"markdown": table.markdown(), "latex": table.latex(), "csv": table.csv()}.items():
        shown = here("study", "table", "--store", made.store, "--format", form)
        assert shown.stdout.replace("\r\n", "\n") == ours.replace("\r\n", "\n")
    rows = json.loads(here("study", "table", "--store", made.store, "--format", "json", "--sizes").stdout)
    assert json.loads(made.table(sizes=True).json()) == rows
    assert table.text(100).split() == repr(table).split() or "A wider terminal" in repr(table)


def test_before_it_is_run_it_can_be_shown_and_nothing_is_written(tmp_path: Path) -> None:
    some = daedal.study(**PARTS, store=tmp_path / "new.db", confirm=2)
    assert some.status().total("left") > 0
    assert "0 runs done" in repr(some)
    assert "onemax:n=12" in repr(some.table())
    assert "…" in some._repr_html_()
    pytest.importorskip("pandas", reason="frames need pandas")
    assert len(some.frame()) == 0
    assert not list(tmp_path.iterdir())


def test_frames_have_one_row_a_run_of_this_study(made: daedal.StoredStudy) -> None:
    pytest.importorskip("pandas", reason="frames need pandas")
    frame = made.frame()
    assert len(frame) == made.status().total("done") == len(stored(made.store))
    assert set(frame["problem"]) == {"onemax:n=12", "cost"}
    assert set(frame["algorithm"]) == {"umda", "slow PBIL"}
    only = daedal.study("onemax:n=12", "umda", popsizes=[10], runs=3, limits=PARTS["limits"], store=made.store)
    assert len(only.frame()) == 3
    assert made.table().frame()["level"].tolist() == [50, 50, 90, 90] * 2


def test_a_store_is_opened_without_what_made_it(made: daedal.StoredStudy) -> None:
    again = daedal.study(store=made.store)
    assert again.table().markdown() == made.table().markdown()
    assert again.status().total("done") == made.status().total("done")
    assert again.run(workers=1) is again  # nothing is left, and its problems are daedal's own
    with pytest.raises(ValueError, match="has no study 7"):
        daedal.study(store=made.store, number=7)
    with pytest.raises(FileNotFoundError, match="no such file"):
        daedal.study(store=made.store.with_name("none.db"))


def test_figures_are_drawn_and_written(made: daedal.StoredStudy, tmp_path: Path) -> None:
    figures = made.plot(tmp_path / "figures")
    assert len(figures) == 4
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == sorted(
        f"{name}.{form}"
        for name in ("cost", "cost-convergence", "onemax-n12", "onemax-n12-convergence")
        for form in ("png", "svg")
    )
    assert len(made.plot(problem="cost")) == 2


MODULE = """
def ones(x):
    return x.sum(axis=1)
"""


def test_functions_need_a_file_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_score.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    ones = importlib.import_module("my_score").ones
    given: dict[str, Any] = {"algorithms": "umda", "popsizes": (10,), "runs": 1, "store": tmp_path / "results.db"}
    table = {"name": "mine", "problem": ones, "n": 8, "target": 8}
    some = daedal.study(problems=table, **given).run(workers=1)
    assert some.status().total("done") == 1, some.status().errors
    with pytest.raises(ValueError, match="'mine' itself"):
        daedal.study(store=given["store"]).run()
    for bad in (ones, [ones], {"problem": lambda x: x.sum(axis=1), "n": 8}):
        with pytest.raises(TypeError, match=r"file\.py:name"):
            daedal.study(problems=bad, **given)


def test_a_program_that_a_store_names_is_not_run(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    table = {"name": "program", "problem": f"cmd:touch {ran}", "n": 4}
    path = tmp_path / "results.db"
    some = daedal.study(table, "umda", popsizes=[10], runs=1, store=path)
    with Store(path) as store:
        store.remember(some.spec)
    assert daedal.study(store=path).status().total("left") == 1
    with pytest.raises(ValueError, match="nothing that it names is run"):
        daedal.study(store=path).run(workers=1)
    assert not ran.exists()


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"problems": None}, TypeError, "problems and algorithms"),
        ({"algorithms": []}, ValueError, "at least one"),
        ({"problems": ["onemux:n=4"]}, ValueError, "onemux"),
        ({"runs": 0}, ValueError, "runs"),
        ({"popsizes": [1]}, ValueError, "popsizes=1"),
        ({"limits": {"max_seconds": 1}}, ValueError, "max_seconds"),
        ({"limits": daedal.Limits(max_seconds=1)}, ValueError, "max_seconds"),
        ({"confirm": -1}, ValueError, "confirm"),
        ({"problems": None, "algorithms": None}, TypeError, "give the store alone"),
        ({"problems": 3}, TypeError, "int"),
    ],
)
def test_what_makes_no_study_is_refused(
    changes: dict[str, Any], error: type[Exception], words: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=words):
        daedal.study(**PARTS | changes, store=tmp_path / "results.db")
    assert not list(tmp_path.iterdir())


def test_the_card_says_shortly_where_the_store_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    parts: dict[str, Any] = {"problems": "onemax:n=6", "algorithms": "umda", "popsizes": [20], "runs": 1}
    assert ">own.db<" in daedal.study(**parts, store="own.db")._repr_html_()
    assert ">../results.db<" in daedal.study(**parts, store="../here/../results.db")._repr_html_()
    assert ">/r.db<" in daedal.study(**parts, store="/r.db")._repr_html_()


def test_a_script_that_runs_itself_again_in_its_workers_is_told_what_to_do(
    tmp_path: Path, plain_environment: dict[str, str]
) -> None:
    script = tmp_path / "mine.py"
    script.write_text('import daedal\ndaedal.study("onemax:n=8", "umda", runs=1, store="mine.db").run(workers=2)\n')
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=plain_environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 1
    assert 'if __name__ == "__main__":' in done.stderr.splitlines()[-1]

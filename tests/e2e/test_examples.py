"""Every example runs as it says, and ends in something to look at."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pages import ROOT, blocks_of

EXAMPLES, PAGE = ROOT / "examples", ROOT / "docs" / "tutorial.md"
SHOWN = {
    "feature_subset": "chosen features: [0, 1, 2, 3, 4, 5, 6], score 0.8982",
    "gzip_flags": "best: ",
    "max_sat": "60 variables, 300 clauses",
    "nk_certificate": "proven",
    "own_algorithm": "20 of 20",
    "own_loop": "192 of 192",
    "own_model": "errors 0.1: 20 of 20",
    "select_features": "held-out pictures, only differences",
    "trap": "auto       3/3     25.0",
}
"""What a script prints, in part."""
WIDEST = 88
"""Characters for which the site has room."""
NOTEBOOK = """
import sys, nbclient, nbformat
from jupyter_client import AsyncKernelManager
notebook = nbformat.read(sys.argv[1], as_version=4)
manager = AsyncKernelManager(kernel_name="python3", transport="ipc")
nbclient.NotebookClient(notebook, timeout=600, km=manager).execute()
nbformat.write(notebook, "done.ipynb")
"""


def run(*command: object, folder: Path, environment: dict[str, str]) -> str:
    """Run a command in a folder to its end; give what it prints."""
    env = environment | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_all_examples_are_known_and_short() -> None:
    scripts = {path.stem for path in EXAMPLES.glob("*.py")}
    assert scripts == set(SHOWN)
    for path in EXAMPLES.glob("*.py"):
        assert len(path.read_text().splitlines()) < 80, path.name


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_an_example_shows_what_it_found(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if name == "gzip_flags" and shutil.which("gzip") is None:
        pytest.skip("no gzip here")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(EXAMPLES / f"{name}.py")])
    runpy.run_path(sys.argv[0], run_name="__main__")
    assert SHOWN[name] in capsys.readouterr().out
    pictures = [path.read_bytes() for path in tmp_path.iterdir()]
    assert [picture[:4] for picture in pictures] == ([b"\x89PNG"] if name == "own_loop" else [])


def test_the_notebook_shows_the_card_and_two_pictures(tmp_path: Path, plain_environment: dict[str, str]) -> None:
    notebook = EXAMPLES / "first_look.ipynb"
    stored = json.loads(notebook.read_text())
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in stored["cells"])
    run(sys.executable, "-c", NOTEBOOK, notebook, folder=tmp_path, environment=plain_environment)
    cells = json.loads((tmp_path / "done.ipynb").read_text())["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    assert sum("image/svg+xml" in output.get("data", {}) for output in outputs) == 2
    assert sum("text/html" in output.get("data", {}) for output in outputs) == 1, "the card"
    text = "".join("".join(output.get("text", "")) for output in outputs)
    assert "30.0 of 30.0 after" in text


@pytest.mark.parametrize(("name", "page"), [("own_algorithm.py", "extending.md"), ("own_model.py", "extending.md")])
def test_pages_show_the_examples_as_they_are(name: str, page: str) -> None:
    shown = {block.title: block.text for block in blocks_of(ROOT / "docs" / page)}
    assert shown[name] == (EXAMPLES / name).read_text()
    assert max(map(len, shown[name].splitlines())) <= WIDEST


def test_the_page_of_examples_has_all_of_them() -> None:
    for path in EXAMPLES.glob("[!_]*"):  # and not what Python has compiled
        assert f"`{path.name}`" in PAGE.read_text(), path.name

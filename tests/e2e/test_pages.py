"""README and docs: every block runs and prints what the page says, every link leads somewhere, every name is there."""

from __future__ import annotations

import doctest
import importlib
import json
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from pages import DOCS, OUTPUT, PAGES, ROOT, Block, anchors_of, blocks_of, links_of, name_of

RUNNER = (ROOT / "tests" / "support" / "page_runner.py").read_text()
OTHER_LANGUAGES = {"", OUTPUT, "toml", "awk", "c"}
"""What is shown and never run: synopses and formats (no language), outputs, files of other languages."""

WIDEST = 88
"""Characters of a line for which the site has room at a width of 1,280 pixels."""
WIDER = {"docs/dae.md", "docs/design.md"}
"""Pages with lines for which the reader has to scroll."""

RUNNING = [page for page in PAGES if any(block.is_run for block in blocks_of(page))]


def as_on_the_page(printed: str, block: Block) -> str:
    """Leave out what commands say only because time passes, and blanks at the ends of lines."""
    passing = ("compiling kernels", "generation ") if block.language == "sh" else ()
    return "".join(f"{line.rstrip()}\n" for line in printed.splitlines() if not line.startswith(passing))


@pytest.mark.parametrize("page", RUNNING, ids=name_of)
def test_blocks_run_and_print_what_the_page_says(page: Path, tmp_path: Path, plain_environment: dict[str, str]) -> None:
    blocks = blocks_of(page)
    fields = ("language", "title", "text", "line", "is_run")
    sent = json.dumps([{field: getattr(block, field) for field in fields} for block in blocks])
    (tmp_path / ".venv").symlink_to(Path(sys.prefix))  # README's folder has one
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUNNER],
        input=sent,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=plain_environment | {"PATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        check=True,
        timeout=900,
    )
    answers = json.loads(done.stdout)
    run = [block for block in blocks if block.is_run]
    for block, (printed, fine) in zip(run, answers, strict=False):
        assert fine, f"{name_of(page)}:{block.line}\n{block.text}\n{printed}"
    assert len(answers) == len(run)
    for (block, after), (printed, _) in zip(with_next(blocks), answers, strict=True):
        if after is not None and after.language == OUTPUT and not after.title:
            got = as_on_the_page(printed, block)
            same = doctest.OutputChecker().check_output(after.text, got, doctest.ELLIPSIS)
            assert same, f"{name_of(page)}:{after.line} says\n{after.text}\nand line {block.line} prints\n{got}"


def with_next(blocks: list[Block]) -> list[tuple[Block, Block | None]]:
    """Give each block that is run, with the one behind it."""
    return [(block, after) for block, after in pairwise([*blocks, None]) if block is not None and block.is_run]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_has_a_language_and_a_width_that_fits_and_every_file_is_named_before(page: Path) -> None:
    """Outputs continue below if they are wider (docs/style.css), and not every reader sees the titles of blocks."""
    lines = page.read_text().splitlines()
    for block in blocks_of(page):
        place = f"{name_of(page)}:{block.line}"
        assert block.language in {"python", "sh"} | OTHER_LANGUAGES, place
        wide = [line for line in block.text.splitlines() if len(line) > WIDEST]
        assert not wide or block.language == OUTPUT or name_of(page) in WIDER, (place, wide)
        before = "\n".join(lines[max(0, block.line - 4) : block.line - 1])
        assert not block.title or f"`{Path(block.title).name}`" in before, place


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in links_of(page):
        assert "://" not in link, f"{name_of(page)} links to {link}, which no test can follow"
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name_of(page)} links to {link}"
        if anchor:
            assert anchor in anchors_of(target), f"{name_of(page)} links to {link}; there are {anchors_of(target)}"


@pytest.mark.parametrize(
    "package", ["daedal", "daedal.models", "daedal.plot", "daedal.problems", "daedal.sklearn", "daedal.surrogates"]
)
def test_every_public_name_is_in_the_reference(package: str) -> None:
    documented = [line for page in (DOCS / "api").glob("*.md") for line in page.read_text().splitlines()]
    module = importlib.import_module(package)
    for name in module.__all__:
        if name.startswith("_") or name in ("models", "plot", "problems", "sklearn"):
            continue
        assert documented.count(f"::: {package}.{name}") == 1, name


def test_the_site_is_built_without_a_warning_and_takes_nothing_from_the_network(
    tmp_path: Path, plain_environment: dict[str, str]
) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path)]
    env = plain_environment | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    built = list(tmp_path.rglob("*.html"))
    assert len(built) > len(RUNNING)
    for page in built:
        loaded = re.findall(r"<(?:script|link|img|iframe)[^>]*?(?:src|href)=[\"']?(https?:[^\"' >]+)", page.read_text())
        assert not loaded, f"{page.name} loads {loaded}"

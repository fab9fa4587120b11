"""What would be published: an sdist, and a wheel built from it that works in an environment of its own."""

from __future__ import annotations

import email
import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from pages import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def run(*command: object, environment: dict[str, str], folder: Path) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, env=environment, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def alone(plain_environment: dict[str, str]) -> dict[str, str]:
    """Return an environment that does not lead to daedal's sources."""
    named = {name: value for name, value in plain_environment.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return named | {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INDEX": "1"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, alone: dict[str, str]) -> Path:
    """Build the sdist and a wheel from it, and return their folder."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, environment=alone, folder=folder)
    return folder


def test_the_wheel_has_the_package_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (name for name in names if name.endswith("/METADATA"))
        said = email.message_from_bytes(archive.read(metadata))
    sources = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")}
    assert sources <= names
    assert "daedal/py.typed" in names
    assert {name.partition("/")[0] for name in names} == {"daedal", f"daedal-{PROJECT['version']}.dist-info"}
    assert said["Requires-Python"] == ">=3.11"
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert f"Programming Language :: Python :: {running}" in said.get_all("Classifier", [])
    assert said.get_all("Project-URL") is None


def test_the_sdist_has_what_it_takes_to_test_it(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "LICENSE", "CITATION.cff", "Makefile", "mkdocs.yml", "tests/conftest.py"} <= names
    assert {"docs/index.md", "docs/images/dae-noise.png", "examples/trap.py"} <= names
    assert not any(name.startswith((".venv", "site/", "dist/")) or "__pycache__" in name for name in names)


def test_the_wheel_installs_and_solves(built: Path, tmp_path: Path, alone: dict[str, str]) -> None:
    """In an environment of its own; a path file leads to what daedal depends on, but not to its sources."""
    (wheel,) = built.glob("*.whl")
    home = tmp_path / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", home, environment=alone, folder=tmp_path)
    folder = sysconfig.get_path("purelib", vars={"base": str(home)})
    (Path(folder) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + os.linesep)
    install = ("install", "--quiet", "--no-deps", "--no-build-isolation", "--ignore-installed", wheel)
    run(home / "bin" / "python", "-m", "pip", *install, environment=alone, folder=tmp_path)
    code = "import daedal; print(daedal.__file__, daedal.__version__)"
    place, version = run(home / "bin" / "python", "-c", code, environment=alone, folder=tmp_path).split()
    assert (Path(place).is_relative_to(home), version) == (True, PROJECT["version"])
    words = ("solve", "onemax:n=20", "--seed", "1", "--algorithm", "umda", "--popsize", "100", "--json")
    solved = run(home / "bin" / "daedal", *words, environment=alone, folder=tmp_path)
    assert json.loads(solved)["success"] is True


def test_one_version_everywhere() -> None:
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), flags=re.MULTILINE)
    assert cited is not None
    assert cited[1] == PROJECT["version"]

"""Names that are loaded when they are first used, and what is then not loaded at all."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import daedal
from daedal import models, plot, problems

WITHOUT_NUMBA = f"""
import sys, types
daedal = sys.modules["daedal"] = types.ModuleType("daedal")  # its own file is not looked at here
daedal.__path__ = [{str(Path(daedal.__file__).parent)!r}]

def loaded():
    return [name for name in ("numba", "llvmlite", "scipy", "threadpoolctl") if name in sys.modules]

from daedal import models, problems
from daedal.archive import to_rows
from daedal.engine import Engine
from daedal.searches.eda import eda
for name in models.__all__:
    getattr(models, name)
for name in problems.__all__:
    getattr(problems, name)
made = [models.DAE(), models.RBM(), models.BayesNet(), models.Tree(), models.ECGA(), problems.NK.random(5, 2, 1)]
for model in (models.UMDA(), models.PBIL()):
    engine = Engine(10, seed=1)
    engine.start(eda(engine, model=model, popsize=20))
    for _ in range(3):
        batch = engine.ask()
        engine.tell(batch, [float(c.bit_count()) for c in batch])
print(loaded())
problems.HIFF(n=2).evaluate(to_rows([1, 2], 2))
print("numba" in loaded())
"""


def test_univariate_models_run_without_numba_and_the_others_are_made_without_it() -> None:
    """In a new process, because in this one Numba is there."""
    command = [sys.executable, "-c", WITHOUT_NUMBA]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[]", "True"]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A package with a module, and with a function that is in it."""
    (tmp_path / "lazily").mkdir()
    (tmp_path / "lazily" / "__init__.py").write_text(
        "from daedal.settings.lazy import lazy_names\n__all__, __getattr__, __dir__ = lazy_names(__name__)\n"
    )
    (tmp_path / "lazily" / "__init__.pyi").write_text(
        "from lazily import sums as sums\nfrom lazily.sums import double as double\n\nother: str\n"
    )
    (tmp_path / "lazily" / "sums.py").write_text("def double(x):\n    return 2 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("lazily")
    for name in ("lazily", "lazily.sums"):
        sys.modules.pop(name, None)


def test_a_name_is_loaded_when_it_is_first_used(package: ModuleType) -> None:
    assert "lazily.sums" not in sys.modules
    assert package.double(2) == 4
    assert "double" in vars(package), "the next use is a plain lookup"
    assert package.sums is sys.modules["lazily.sums"]


def test_all_names_are_listed_and_others_refused(package: ModuleType) -> None:
    assert package.__all__ == ["sums", "double"]
    assert {"double", "sums", "__name__"} <= set(dir(package))
    with pytest.raises(AttributeError, match="'lazily' has no attribute 'triple'"):
        package.triple  # noqa: B018
    assert not hasattr(package, "__wrapped__")


@pytest.mark.parametrize("lazy", [models, plot, problems], ids=lambda lazy: lazy.__name__)
def test_type_checkers_see_the_names_that_there_are(lazy: ModuleType) -> None:
    assert lazy.__file__ is not None
    tree = ast.parse(Path(lazy.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    seen = {alias.asname: node.module for node in imports for alias in node.names if alias.asname}
    assert set(seen) == set(lazy.__all__)
    for name, module in seen.items():
        value = getattr(lazy, name)
        assert getattr(value, "__module__", lazy.__name__) == module

"""Reads the parts of a study, from a study file or from a store: every key and value is checked."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from daedal.limits import Limits
from daedal.objectives.spec import identity, located, read_objective
from daedal.problems.registry import find_problem
from daedal.rng import check_seed
from daedal.searches.algorithm import Algorithm
from daedal.searches.presets import find_algorithm
from daedal.settings.checks import check_whole
from daedal.settings.parameters import unknown
from daedal.settings.plugins import is_file_spec
from daedal.spaces.description import describe, described, read_space
from daedal.spaces.space import Space
from daedal.studies.cell import AUTO, LIMITS, StudyAlgorithm, StudyProblem
from daedal.studies.stored_algorithm import stored_algorithm

_LARGEST_POPSIZE = 10**12
_LARGEST_BUDGET = 10**12


_T = TypeVar("_T", StudyProblem, StudyAlgorithm)


def check_keys(owner: str, given: Mapping[str, object], known: Sequence[str]) -> None:
    """Refuse a key that there is not, and name the nearest that there is."""
    for key in given:
        if key not in known:
            raise ValueError(unknown(f"key of {owner}", key, known))


def read_several(key: str, given: Mapping[str, Any], read: Callable[[object], _T]) -> tuple[_T, ...]:
    """Read a list of texts or tables, at least one, no two of the same name."""
    listed = given.get(key)
    if not isinstance(listed, list) or not listed:
        raise ValueError(f"expected {key} to be a list of at least one, got {key}={listed!r}")
    things = tuple(map(read, listed))
    names = [thing.name for thing in things]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"expected each of {key} once, got {name!r} twice; give one of them another name")
    return things


def read_problem(given: object, folder: Path | None, *, stored: bool) -> StudyProblem:
    """Read a problem: a text or a table; the file of one that comes from a store need not be there any more."""
    table = _table("a problem", {"problem": given} if isinstance(given, str) else given)
    fields = [one.name for one in dataclasses.fields(StudyProblem) if stored or one.name != "identity"]
    check_keys("a problem", table, fields)
    problem = _text("problem", table.get("problem"), 'the name of a problem, such as "trap:k=5,n=50"')
    name = _text("name", table.get("name", problem), "text")
    n, target = table.get("n"), table.get("target")
    if n is not None:
        check_whole("n", n, least=1, hint="give the number of variables")
    Limits(target=target)  # checks it
    problem, space = located(problem, folder), _space(table.get("space"), folder)
    if space is not None and n is not None:
        raise ValueError(f"expected n or a space, got both, n={n}")
    size = n if space is None else space.n
    if not stored and isinstance(read_objective(problem, size), str):  # refuses what cannot be made
        own = find_problem(problem).n
        if space is not None or n not in (None, own):
            came = f"n={n}" if space is None else "a space"
            raise ValueError(f"expected n={own}, which the problem has, or no n, got {came}")
    return StudyProblem(
        name=name,
        problem=problem,
        n=n,
        space=None if space is None else json.dumps(describe(space)),
        by_row=read_bool("by_row", table.get("by_row", False)),
        minimize=read_bool("minimize", table.get("minimize", False)),
        target=None if target is None else float(target),
        version=_text("version", table["version"], "text") if "version" in table else "",
        timeout=_timeout(table.get("timeout")),
        identity=table["identity"] if "identity" in table else identity(problem),
    )


def read_algorithm(
    given: object, popsizes: object, folder: Path | None, *, stored: bool, budgeted: bool = False
) -> StudyAlgorithm:
    """Read an algorithm: a text or a table; of one that comes from a store no file is loaded."""
    table = _table("an algorithm", {"algorithm": given} if isinstance(given, str) else given)
    check_keys(
        "an algorithm", table, ("name", "algorithm", "settings", "popsize", "popsizes", *(("kind", "limits") * stored))
    )
    spec = _text("algorithm", table.get("algorithm"), 'the name of an algorithm, such as "dae", or "file.py:NAME"')
    settings = _table("settings", table.get("settings", {}))
    sizes: tuple[int | None, ...]
    if stored:
        kind = _text("kind", table["kind"], "text") if "kind" in table else None
        algorithm = stored_algorithm(spec, settings, kind, read_limits(table.get("limits", {})))
        sizes = (None,) if table.get("popsizes") == [None] else read_popsizes(table.get("popsizes", popsizes))
    else:
        settings = _with_popsize(settings, table)
        algorithm = find_algorithm(located(spec, folder) if is_file_spec(spec) else spec).with_settings(settings)
        _check_repeatable(algorithm)
        sizes = _sizes(algorithm, table, popsizes, budgeted=budgeted)
    name = _text("name", table.get("name", algorithm.name), "text")
    return StudyAlgorithm(name=name, algorithm=algorithm, popsizes=sizes)


def _with_popsize(settings: Mapping[str, Any], table: Mapping[str, object]) -> dict[str, Any]:
    """Take the one population size that is no number, wherever it is written."""
    given = {"popsize": table["popsize"]} if "popsize" in table else {}
    if {**settings, **given}.get("popsize", AUTO) != AUTO:
        raise ValueError(
            'a study tries several population sizes: give popsizes = [...], or popsize = "auto", instead of the setting'
        )
    return {**settings, **given}


def _sizes(
    algorithm: Algorithm, table: Mapping[str, Any], popsizes: object, *, budgeted: bool
) -> tuple[int | None, ...]:
    if "popsize" in algorithm.parameters() and algorithm.settings().get("popsize") != AUTO:
        if budgeted and popsizes is None and "popsizes" not in table:
            return (None,)  # it chooses one that fits the budget
        sizes = read_popsizes(table.get("popsizes", popsizes), only_one=budgeted)
        for size in sizes:
            algorithm.with_settings({"popsize": size})  # refuses here what it would in the middle of a study
        return sizes
    if "popsizes" in table:
        if "popsize" in algorithm.parameters():
            raise ValueError(f'expected popsize = "auto" or popsizes, got both, popsizes={table["popsizes"]}')
        raise ValueError(f"{algorithm.name} has no setting popsize, got popsizes={table['popsizes']}; leave them out")
    return (None,)


def _check_repeatable(algorithm: Algorithm) -> None:
    """Refuse what cannot be known again: a setting without a text of its own, or an end by the clock."""
    for name, value in algorithm.settings().items():
        if isinstance(value, list | dict | set) or " at 0x" in repr(value):
            allowed = "a study knows runs by their settings, so each has to be a number, a text or a tuple of these"
            raise ValueError(f"{allowed}, got {name}={value!r} of {algorithm.name}")
    for name in ("max_seconds", "target"):
        if getattr(algorithm.limits, name) is not None:
            raise ValueError(f"expected {algorithm.name} without {name} among its limits, which a study cannot repeat")


def read_budgets(given: object, limits: Mapping[str, object]) -> tuple[int, ...]:
    """Read budgets; they come from small to large, each once."""
    if not isinstance(given, list) or not given:
        raise ValueError(f"expected budgets to be a list of at least one number of calls, got budgets={given!r}")
    budgets = {check_whole("a budget", budget, least=1, hint="give calls of the objective") for budget in given}
    if max(budgets) > _LARGEST_BUDGET:
        raise ValueError(f"expected budgets of at most {_LARGEST_BUDGET:,} calls, got {max(budgets)}")
    if "max_evaluations" in limits:
        raise ValueError("expected budgets or max_evaluations among the limits, got both: a budget is what ends a run")
    return tuple(sorted(budgets))


def read_popsizes(given: object, *, only_one: bool = False) -> tuple[int, ...]:
    """Read population sizes; they come from small to large, each once; of a study with budgets, only one."""
    if not isinstance(given, list) or not given:
        raise ValueError(f"expected popsizes to be a list of at least one size, got popsizes={given!r}")
    sizes = {check_whole("a population size", size, least=2, hint="the smallest is 2") for size in given}
    if max(sizes) > _LARGEST_POPSIZE:
        raise ValueError(f"expected population sizes of at most {_LARGEST_POPSIZE:,}, got {max(sizes)}")
    if only_one and len(sizes) > 1:
        raise ValueError(
            "a study with budgets looks for no population size: give one, or none, which leaves it to the algorithm, "
            f"got popsizes={given}"
        )
    return tuple(sorted(sizes))


def read_limits(given: object) -> dict[str, Any]:
    """Read what ends a run; the clock does not."""
    limits = _table("limits", given)
    check_keys("limits", limits, LIMITS)
    return limits


def read_seed(given: Any) -> int:
    """Read a seed that a store can hold."""
    if given is None or check_seed(given) >= 2**62:
        raise ValueError(f"expected a seed below 2^62, which a store can hold, got seed={given}")
    return int(given)


def read_bool(key: str, given: object) -> bool:
    """Read true or false."""
    if not isinstance(given, bool):
        raise ValueError(f"expected {key} to be true or false, got {key}={given!r}")
    return given


def _table(name: str, given: object) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise ValueError(f"expected {name} to be a table of keys and values, got {given!r}")
    return given


def _text(key: str, given: object, what: str) -> str:
    if not isinstance(given, str) or not given:
        raise ValueError(f"expected {key} to be {what}, got {key}={given!r}")
    return given


def _space(given: object, folder: Path | None) -> Space | None:
    """Read a space: the name of its file, a table, or, from a store, JSON."""
    if given is None or isinstance(given, dict):
        return None if given is None else described(given)
    text = _text("space", given, "the name of a TOML file, or a table")
    if not text.lstrip().startswith("{"):
        return read_space(text if folder is None else folder / text)
    try:
        return described(json.loads(text))
    except (ValueError, RecursionError, AttributeError) as error:
        raise ValueError(f"expected the space of a problem, got {text:.60}: {error}") from None


def _timeout(given: object) -> float | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= sys.float_info.max:
        raise ValueError(f"expected timeout to be a number of seconds above 0, got timeout={given!r}")
    return float(given)

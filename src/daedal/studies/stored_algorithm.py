"""Algorithms of a store: what it says of them, without any code of theirs, so that their runs can be shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from daedal.engine import Engine, Search
from daedal.limits import Limits
from daedal.objectives.spec import without_folder
from daedal.searches.algorithm import Algorithm, Configuration
from daedal.searches.presets import PRESETS, preset, restored_algorithm
from daedal.settings.parameters import Parameter, Setting
from daedal.settings.plugins import is_file_spec
from daedal.studies.cell import LIMITS, StudyAlgorithm


@dataclass(frozen=True, kw_only=True)
class StoredConfiguration(Configuration):
    """What a store says of an algorithm that this process does not know: it can be shown, and not run."""

    name: str
    stored_kind: str
    stored_settings: str  # as JSON, which does not change

    @property
    def kind(self) -> str:
        """What it was."""
        return self.stored_kind

    def parameters(self) -> dict[str, Parameter]:
        """Nobody knows what can be set, but for what a study sets."""
        return {"popsize": Parameter("popsize", int, None)}

    def settings(self) -> dict[str, Setting]:
        """Give the values that were in force."""
        values: dict[str, Setting] = json.loads(self.stored_settings)
        return values

    def with_settings(self, values: Mapping[str, Setting]) -> StoredConfiguration:
        """Give what was there, whatever is set."""
        return self

    def search(self, f: Engine, limits: Limits) -> Search:
        """Refuse."""
        self.refuse()

    def refuse(self) -> NoReturn:
        """Say why such an algorithm cannot be run."""
        raise ValueError(f"the store does not hold the algorithm {self.name!r} itself; run the study from its file")


def described(one: StudyAlgorithm) -> dict[str, object]:
    """Say what an algorithm of a study is, for a store: of daedal's own the name is enough."""
    algorithm = one.algorithm
    told: dict[str, object] = {"name": one.name, "popsizes": list(one.popsizes)}
    for known in map(preset, PRESETS):
        if (known.name, known.kind, known.limits) == (algorithm.name, algorithm.kind, algorithm.limits):
            own = known.settings()
            changed = {name: value for name, value in one.settings.items() if value != own[name]}
            return {**told, "algorithm": algorithm.name, "settings": changed}
    return {
        **told,
        "algorithm": algorithm.name if algorithm.source is None else without_folder(algorithm.source),
        "settings": one.settings,
        "kind": algorithm.kind,
        "limits": {name: getattr(algorithm.limits, name) for name in LIMITS},
    }


def stored_algorithm(spec: str, settings: Mapping[str, Any], kind: str | None, limits: Mapping[str, Any]) -> Algorithm:
    """Give the algorithm that a store names, or its "file.py:NAME"; no file is loaded, whatever the store says.

    One of daedal's own has no kind, and of its settings those that were changed.
    """
    own = _restored(spec, settings) if kind is None else None
    if own is not None:
        return own
    text = json.dumps(dict(settings))
    return Algorithm(
        name=spec.rpartition(":")[2] if is_file_spec(spec) else spec,
        # There is no kind where an older store has no run of it.
        configuration=StoredConfiguration(name=spec, stored_kind=kind or "", stored_settings=text),
        limits=Limits(**limits),
        source=spec if is_file_spec(spec) else None,
    )


def recall_algorithms(given: dict[str, Any], cells: Callable[[], Iterable[tuple[str, str]]]) -> None:
    """Add to the study of an older store what its cells know of algorithms that this process does not.

    The study is changed in place; cells are given as the algorithm's own name and their content.
    """
    tables = [one for one in given["algorithms"] if "kind" not in one]
    unknown = [one for one in tables if _restored(one["algorithm"], one["settings"]) is None]
    found = [(name, json.loads(content)) for name, content in cells()] if unknown else []
    changes = [(one["algorithm"], one["settings"]) for one in unknown]
    for table, (algorithm, changed) in zip(unknown, changes, strict=True):
        others = [other for name, other in changes if name == algorithm and not _holds(changed, other)]
        for name, content in found:
            settings = content["settings"]
            if (
                name == algorithm
                and content["popsize"] in table["popsizes"]
                and content["shuffle"] == given["shuffle"]
                and _holds(content["limits"], given["limits"])
                and _holds(settings, changed)
                and not any(_holds(settings, other) for other in others)
            ):
                table.update(kind=content["model"], settings=settings, limits=content["limits"])
                break


def _restored(name: str, settings: Mapping[str, Any]) -> Algorithm | None:
    """Give an algorithm of daedal's own; None where it is not, or has no such settings."""
    try:
        return restored_algorithm(name, "").with_settings(settings)
    except (ValueError, TypeError):
        return None


def _holds(whole: Mapping[str, Any], part: Mapping[str, Any]) -> bool:
    return all(name in whole and whole[name] == value for name, value in part.items())

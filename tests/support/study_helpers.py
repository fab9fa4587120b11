"""Studies and stores that tests share: workers that are no processes, stores of older versions, rows past daedal."""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

from daedal.evaluation.worker import Event, Message
from daedal.result import Result
from daedal.run.config import RunConfig
from daedal.settings.checks import describe_error

CLOCK = {"cpu_seconds_to_best", "cpu_seconds", "finished"}
"""What is never the same in two runs, nor in the rows of two stores."""

SLOW_OBJECTIVE = """
import os, pathlib, time

calls = 0

def ones(x):
    global calls
    calls += 1
    if calls == int(os.environ.get("HOLD", 0)):  # in the middle of a run, for ever
        (pathlib.Path(__file__).parent / f"pid-{os.getpid()}").touch()
        time.sleep(1000)
    return x.sum(axis=1)
"""


def stored(path: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """Read the runs of a store, past daedal, by cell and seed; a file that is no store yet has none."""
    if not path.exists():
        return {}
    with closing(sqlite3.connect(path.absolute().as_uri() + "?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        try:
            found = [dict(row) for row in connection.execute("SELECT * FROM runs ORDER BY rowid")]
        except sqlite3.OperationalError:
            return {}
    rows = {(row["content"], row["seed"]): row for row in found if row.pop("history") or True}
    assert len(rows) == len(found)  # each once
    return rows


def timeless(rows: dict[Any, dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    """Leave out what the clock says."""
    return {key: {name: row[name] for name in row if name not in CLOCK} for key, row in rows.items()}


class Inline:
    """Workers that are no processes, to be given to `run_study`; of what is under way, anything may end next.

    It makes itself: what is passed as a factory of pools is the one pool that there is.
    """

    def __init__(self) -> None:
        self.made: list[RunConfig] = []
        self.count = 0
        self._random = Random(0)
        self._under_way: list[tuple[int, bytes]] = []

    def __call__(self, count: int, function: Callable[[Any], Result]) -> Inline:
        self.count, self._function = count, function
        return self

    def __enter__(self) -> Inline:
        return self

    def __exit__(self, *_: object) -> None:
        self._under_way.clear()

    @property
    def size(self) -> int:
        return self.count

    @property
    def idle(self) -> int:
        return self.count - len(self._under_way)

    def start(self, ticket: int, config: RunConfig) -> None:
        assert self.idle > 0
        self._under_way.append((ticket, pickle.dumps(config)))  # as if it had to be sent

    def wait(self) -> list[Message]:
        ended = self._random.sample(self._under_way, self._random.randint(1, len(self._under_way)))
        self._under_way = [one for one in self._under_way if one not in ended]
        return [self._answer(ticket, pickle.loads(config)) for ticket, config in ended]

    def _answer(self, ticket: int, config: RunConfig) -> Message:
        self.made.append(config)
        try:
            return Message(ticket, Event.DONE, self._function(config))
        except Exception as error:  # noqa: BLE001  as workers do
            return Message(ticket, Event.RAISED, describe_error(error))

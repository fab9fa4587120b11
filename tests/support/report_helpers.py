"""Results with everything that a page can show: a real run, with traces that are made up where a test needs some."""

from __future__ import annotations

import dataclasses
import json
from html.parser import HTMLParser
from typing import Any

import numpy as np

import daedal
from daedal.result import Curve, Trace
from daedal.types import Bits


def made_up_trace(x: Bits, *, blocks: int = 5, looks: int = 12, sign: float = 1.0, **changes: Any) -> Trace:
    """Make up what a search for x looked like: shares of ones go to x, and blocks of neighbors hang together."""
    n, rng = len(x), np.random.default_rng(1)
    way = np.linspace(0, 1, looks)[:, None]
    ones = 0.5 + way * (x - 0.5)
    rows = np.concatenate([(rng.random((20, n)) < share).astype(np.uint8) for share in ones])
    fitness = np.concatenate([np.sort((part == x).sum(axis=1))[::-1] for part in np.split(rows, looks)]).astype(float)
    linkage = rng.random((n, n)) * 0.05 + np.kron(np.eye(-(-n // blocks)), np.ones((blocks, blocks)))[:n, :n]
    top = np.repeat(x[None], 12, axis=0)
    top[np.arange(1, 12), np.arange(1, 12) % n] ^= 1
    flips = -rng.random(n) * sign
    flips[::3] = np.nan
    fields: dict[str, Any] = {
        "generations": np.arange(looks),
        "ones": ones.astype(np.float32),
        "rows": rows,
        "fitness": sign * fitness,
        "look": np.repeat(np.arange(looks), 20),
        "linkage": ((linkage + linkage.T) / 2).astype(np.float32),
        "source": "made-up numbers",
        "curves": tuple(
            Curve(generation=g, epochs=np.arange(1, 40), errors=0.1 + 0.5 * np.exp(-np.arange(39) / (5 + g)))
            for g in range(1, looks)
        ),
        "top": top,
        "top_fitness": sign * (float(n) - np.arange(12.0)),
        "flips": flips,
        "others": sign * (float(n) - 1 - rng.random(n)),
        "seen": rows[:0],
        "seen_fitness": fitness[:0],
    }
    return Trace(**fields | changes)


def full_result(**changes: Any) -> daedal.Result:
    """Make a short run, and add what a page can show and this run has not kept."""
    result = daedal.maximize(lambda x: x.sum(axis=1), n=20, algorithm="umda", popsize=40, seed=1, max_generations=11)
    history = tuple(
        dataclasses.replace(
            record,
            sd=1.0,
            batches=k + 1,
            seconds=0.2 * (k + 1),
            objective_seconds=0.15 * (k + 1),
            info={"epochs": 30.0 + k, "error": 1.0 / (k + 1)},
        )
        for k, record in enumerate(result.history)
    )
    fields: dict[str, Any] = {
        "problem": "ones",
        "history": history,
        "trace": made_up_trace(result.x),
        "again": "daedal solve onemax:n=20",
    }
    return dataclasses.replace(result, **fields | changes)


EVIL = "<script>alert(1)</script>&\"'\x1b[31m"
"""A text that a page must show and never obey."""

SHOWN_EVIL = EVIL.replace("\x1b", r"\x1b")
"""How it is to be read."""


class PageReader(HTMLParser):
    """Reads a page as a browser does: the text, the elements, and the data of figures by name."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.figures: dict[str, list[Any]] = {}
        self._is_hidden = False
        self._texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        self._is_hidden = tag in ("script", "style")
        if "data-figure" in found:
            self.figures[str(found["data-figure"])] = []
        if "data-readout" in found:
            self.figures[list(self.figures)[-1]].append(json.loads(str(found["data-readout"])))

    def handle_endtag(self, tag: str) -> None:
        self._is_hidden = False

    def handle_data(self, data: str) -> None:
        if not self._is_hidden:
            self._texts.append(data)

    @property
    def text(self) -> str:
        """The text of the page, with single spaces."""
        return " ".join(" ".join(self._texts).split())

    def count(self, tag: str) -> int:
        """Return how many elements of a kind there are."""
        return sum(name == tag for name, _ in self.tags)

    def sections(self) -> list[str]:
        """Return the names of the sections, in their order."""
        return [str(attributes["id"]) for tag, attributes in self.tags if tag == "section"]


def read_html(page: str) -> PageReader:
    """Read a page."""
    reader = PageReader()
    reader.feed(page)
    reader.close()
    return reader

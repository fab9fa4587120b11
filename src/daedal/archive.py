"""The archive: every evaluated candidate once, with its value, its parent and its place in the order of arrival."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from daedal.types import Bits, Outputs


def to_rows(candidates: Sequence[int], n: int) -> Bits:
    """Return candidates as an array of bits, shape (candidates, n).

    Examples
    --------
    >>> to_rows([0b011, 0b100], 3)
    array([[1, 1, 0],
           [0, 0, 1]], dtype=uint8)
    """
    size = (n + 7) // 8
    packed = np.frombuffer(b"".join([c.to_bytes(size, "little") for c in candidates]), np.uint8)
    return np.unpackbits(packed.reshape(-1, size), axis=1, count=n, bitorder="little")


def to_candidates(rows: Bits) -> list[int]:
    """Return rows of bits, shape (rows, n), as candidates: bit i of the integer is variable i.

    Examples
    --------
    >>> to_candidates(np.array([[1, 1, 0], [0, 0, 1]], np.uint8))
    [3, 4]
    """
    packed = np.packbits(rows, axis=1, bitorder="little")
    size, data = packed.shape[1], packed.tobytes()
    return [int.from_bytes(data[at : at + size], "little") for at in range(0, len(data), size)]


class Archive:
    """Every evaluated candidate once, in the order of arrival.

    A candidate is a Python integer whose bit i is variable i. Values are to be maximized.

    Parameters
    ----------
    n
        Number of bits.

    Attributes
    ----------
    values
        The value of each candidate. With constraints it is a merit, which orders infeasible candidates, too.
    parents
        For each candidate, in the order of arrival, the candidate that it is a small change of, or None.
    order
        The candidates in the order of arrival.
    outputs
        For each candidate, in the order of arrival, the value of the objective and the signed amount of each
        constraint; empty without constraints.

    Examples
    --------
    >>> archive = Archive(3)
    >>> archive.add(0b101, 2.0, None)
    >>> archive[0b101], 0b111 in archive, len(archive)
    (2.0, False, 1)
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.values: dict[int, float] = {}
        self.parents: list[int | None] = []
        self.order: list[int] = []
        self.outputs: list[Sequence[float] | None] = []

    def __len__(self) -> int:
        return len(self.order)

    def __contains__(self, candidate: int) -> bool:
        return candidate in self.values

    def __getitem__(self, candidate: int) -> float:
        return self.values[candidate]

    def add(self, candidate: int, value: float, parent: int | None, outputs: Sequence[float] | None = None) -> None:
        """Add a candidate; one that is there keeps its value."""
        if candidate in self.values:
            return
        self.values[candidate] = value
        self.order.append(candidate)
        self.parents.append(parent)
        if outputs is not None or self.outputs:
            self.outputs += [None] * (len(self.order) - 1 - len(self.outputs))
            self.outputs.append(outputs)

    def add_all(
        self,
        candidates: Sequence[int],
        values: Sequence[float],
        parents: dict[int, int | None],
        outputs: Sequence[Sequence[float] | None] | None = None,
    ) -> None:
        """Add candidates, whose parents are taken out of a dictionary; those that are there keep their values."""
        if outputs is not None or self.outputs:
            own = outputs or [None] * len(candidates)
            for candidate, value, one in zip(candidates, values, own, strict=True):
                self.add(candidate, value, parents.pop(candidate, None), one)
            return
        known, order, parent_of = self.values, self.order, self.parents
        for candidate, value in zip(candidates, values, strict=True):
            parent = parents.pop(candidate, None)
            if candidate not in known:
                known[candidate] = value
                order.append(candidate)
                parent_of.append(parent)

    def outputs_of(self, places: Sequence[int], columns: int) -> Outputs:
        """Return outputs by place, shape (places, columns); nan where they are unknown."""
        unknown = [np.nan] * columns
        known = self.outputs
        return np.array(
            [known[at] if at < len(known) and known[at] is not None else unknown for at in places], dtype=np.float64
        ).reshape(-1, columns)

    def rows(self, places: NDArray[np.intp]) -> Bits:
        """Return candidates by their places in the order of arrival, shape (places, n)."""
        return to_rows([self.order[at] for at in places.tolist()], self.n)

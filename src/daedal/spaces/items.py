"""Variables over items: orders and subsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal.settings.checks import check_whole
from daedal.spaces.fields import Field, PermutationField, SubsetField
from daedal.spaces.plain import Plain, Value, as_array, checked_items, find_number
from daedal.spaces.variables import Variable


class _Items(Variable):
    """A variable over items: so many, numbered from 0 on, or with names."""

    def __init__(self, items: int | Iterable[Plain]) -> None:
        if isinstance(items, Integral) and not isinstance(items, bool):
            self.count = check_whole("items", items, least=1, of=self.kind)
            self.items: tuple[Plain, ...] | None = None
        elif isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
            raise ValueError(f"expected how many items a {self.kind} has, or a list of them, got {items!r}")
        else:
            self.items = checked_items(tuple(items), f"items of a {self.kind}")
            self.count = len(self.items)
            self._numbers = {item: number for number, item in enumerate(self.items)}

    def item(self, number: int) -> Plain:
        """Give an item by its number."""
        return number if self.items is None else self.items[number]

    def item_numbers(self, value: object) -> list[int]:
        """Give the numbers of the items of a list; ValueError for what is none, or twice."""
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            raise ValueError(f"expected a list of items, got {value!r}")
        numbers = [self._item_number(item) for item in value]
        if len(set(numbers)) < len(numbers):
            raise ValueError(f"expected each item at most once, got {list(value)!r}")
        return numbers

    def _item_number(self, item: object) -> int:
        if self.items is not None:
            return find_number(self._numbers, item)
        if not isinstance(item, Integral) or isinstance(item, bool) or not 0 <= int(item) < self.count:
            raise ValueError(f"expected items from 0 to {self.count - 1}, got {item!r}")
        return int(item)

    def _listed_items(self) -> int | list[Plain]:
        return self.count if self.items is None else list(self.items)


class Permutation(_Items):
    """An order of items: a list in which each stands once.

    Parameters
    ----------
    items
        How many items, numbered from 0 on, or the items themselves.

    Examples
    --------
    >>> Permutation(["wash", "dry", "fold"]).value(np.array([2, 0, 1]))
    ['fold', 'wash', 'dry']
    """

    kind = "permutation"

    @cached_property
    def field(self) -> Field:
        """The place of each item."""
        return PermutationField(self.count)

    def column(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """Give the items in order, shape (rows, items)."""
        return numbers if self.items is None else as_array(self.items)[numbers]

    def value(self, number: NDArray[np.int64]) -> Value:
        """Give the items in order."""
        return [self.item(item) for item in number.tolist()]

    def number(self, value: object) -> NDArray[np.int64]:
        """Take a list of all items."""
        numbers = self.item_numbers(value)
        if len(numbers) != self.count:
            raise ValueError(f"expected all {self.count} items, each once, got {len(numbers)} of them")
        return np.array(numbers)

    def settings(self) -> dict[str, Any]:
        """Give the items."""
        return {"items": self._listed_items()}


class Subset(_Items):
    """Some of the items: at least so many, at most so many, or exactly so many. No other subset is ever evaluated.

    Parameters
    ----------
    items
        How many items, numbered from 0 on, or the items themselves.
    at_least, at_most
        How few and how many; none, and all, where not given.
    exactly
        How many, in place of both.

    Examples
    --------
    >>> Subset(80, at_most=10).value(np.eye(80, dtype=int)[3])
    [3]
    """

    kind = "subset"

    def __init__(
        self,
        items: int | Sequence[Plain],
        *,
        at_least: int | None = None,
        at_most: int | None = None,
        exactly: int | None = None,
    ) -> None:
        super().__init__(items)
        if exactly is not None and (at_least is not None or at_most is not None):
            raise ValueError("expected exactly, or at_least and at_most, got both")
        for name, limit in (("at_least", at_least), ("at_most", at_most), ("exactly", exactly)):
            if limit is not None and check_whole(name, limit, least=0, of="a subset") > self.count:
                raise ValueError(f"expected {name} to be at most the number of items, {self.count}, got {name}={limit}")
        low, high = (at_least, at_most) if exactly is None else (exactly, exactly)
        self.at_least, self.at_most = int(low or 0), self.count if high is None else int(high)
        if self.at_least > self.at_most:
            raise ValueError(f"expected at_least <= at_most, got at_least={at_least}, at_most={at_most}")

    @cached_property
    def field(self) -> Field:
        """A bit for each item."""
        return SubsetField(self.count, self.at_least, self.at_most)

    def column(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """Give truth values, shape (rows, items): whether each item is in it."""
        return numbers.astype(np.bool_)

    def value(self, number: NDArray[np.int64]) -> Value:
        """Give the items that are in it."""
        return [self.item(item) for item in np.flatnonzero(number).tolist()]

    def number(self, value: object) -> NDArray[np.int64]:
        """Take a list of items, or a truth value for each of them."""
        mask = np.zeros(self.count, np.int64)
        if isinstance(value, np.ndarray) and value.dtype == np.bool_ and value.shape == mask.shape:
            mask[value] = 1
        else:
            mask[self.item_numbers(value)] = 1
        if not self.at_least <= mask.sum() <= self.at_most:
            expected = f"{self.at_least} to {self.at_most}" if self.at_least < self.at_most else f"{self.at_most}"
            raise ValueError(f"expected a subset of {expected} items, got {mask.sum()}")
        return mask

    def settings(self) -> dict[str, Any]:
        """Give the items and the limits."""
        return {"items": self._listed_items(), "at_least": self.at_least, "at_most": self.at_most}

"""What variables are called, and what was learned of them where a variable of a space has several bits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from daedal.result.linkage import Linkage, linkage_of, search_linkage
from daedal.spaces.space import Space
from daedal.spaces.variables import Permutation, Subset

if TYPE_CHECKING:
    from daedal.result.result import Result


@dataclass(frozen=True, eq=False)
class Variables:
    """What people call variables: bits, or those of a space, of which an order or a subset has one for each item.

    Attributes
    ----------
    labels
        Their names, shape (variables,).
    of_bit
        The variable that each bit belongs to, shape (n,), in rising order.
    """

    labels: tuple[str, ...]
    of_bit: NDArray[np.intp]

    @property
    def are_bits(self) -> bool:
        """Whether each variable is one bit."""
        return len(self.labels) == len(self.of_bit)

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """The first bit of each variable, shape (variables,)."""
        return np.searchsorted(self.of_bit, np.arange(len(self.labels)))

    @cached_property
    def bit_labels(self) -> tuple[str, ...]:
        """The name of each bit, shape (n,): that of its variable, with a number where this has several."""
        sizes = np.bincount(self.of_bit, minlength=len(self.labels))
        return tuple(
            self.labels[k] if sizes[k] == 1 else f"{self.labels[k]}.{bit - self.starts[k]}"
            for bit, k in enumerate(self.of_bit.tolist())
        )


def variables_of(result: Result) -> Variables:
    """Say what the variables of a result are called.

    Examples
    --------
    >>> import daedal
    >>> space = daedal.Space(size=daedal.Integer(1, 8), parts=daedal.Subset(["a", "b"]))
    >>> found = variables_of(daedal.maximize(lambda values: values["size"], space, seed=1, max_evaluations=20))
    >>> found.labels, found.bit_labels
    (('size', 'parts: a', 'parts: b'), ('size.0', 'size.1', 'size.2', 'parts: a', 'parts: b'))
    """
    if result.space is None or result.names is not None:
        return Variables(result.names or tuple(f"x{i}" for i in range(result.n)), np.arange(result.n))
    return _of_space(result.space)


def _of_space(space: Space) -> Variables:
    units = space.encoding.units.astype(np.intp)
    labels: list[str] = []
    for name, variable in space.items():
        parts = len(variable.field.unit_widths)
        if isinstance(variable, Permutation | Subset):
            labels += [f"{name}: {variable.item(item)}" for item in range(parts)]
        else:
            labels += [name] * parts
    spare = int(units[-1]) + 1 - len(labels)  # where all variables are fixed there is a bit that nobody uses
    return Variables((*labels, *["unused"] * spare), units)


def learned_linkage(result: Result, variables: Variables) -> Linkage | None:
    """Give which variables hang together, as far as anybody knows; where many rows are kept, it takes some seconds."""
    return _of_variables(linkage_of(result.trace), variables)


def believed_linkage(result: Result, variables: Variables) -> Linkage | None:
    """Give which variables hang together as the search itself believed; that takes no time."""
    return _of_variables(search_linkage(result.trace), variables)


def _of_variables(linkage: Linkage | None, variables: Variables) -> Linkage | None:
    return linkage if linkage is None or variables.are_bits else _joined(linkage, variables)


def _joined(linkage: Linkage, variables: Variables) -> Linkage:
    """Give what is known of bits for their variables: two are linked as strongly as any of their bits."""
    starts, of_bit = variables.starts, variables.of_bit
    strength = np.maximum.reduceat(np.maximum.reduceat(linkage.strength, starts, axis=0), starts, axis=1)
    np.fill_diagonal(strength, 0.0)
    groups: list[set[int]] = []
    for bits in linkage.groups:
        group = set(of_bit[list(bits)].tolist())
        for other in [one for one in groups if one & group]:
            groups.remove(other)
            group |= other
        groups.append(group)
    several = tuple(tuple(sorted(group)) for group in groups if len(group) > 1)
    order = list(dict.fromkeys([*(k for group in several for k in group), *of_bit[linkage.order].tolist()]))
    return Linkage(strength=strength, order=np.array(order, np.intp), groups=several, source=linkage.source)

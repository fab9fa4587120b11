"""Numbers as others give them: what NumPy, pandas, torch and plain Python call numbers, and nothing else."""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Iterable
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal.types import Fitness

_DOUBLE = 8  # bytes of the widest float that needs no look at whether its numbers fit into a float64


def as_numbers(values: object, *, source: str = "as fitness") -> Fitness:
    """Turn what a caller gave, numbers of any kind, into a new array of float64; refuse everything else.

    What is masked (NumPy) or missing (pandas) has no value, and is nan. ValueError for all that is no number, for one
    that no float64 can hold, and where nobody can tell which number belongs to which row.

    Examples
    --------
    >>> as_numbers([1, True, 2.5])
    array([1. , 1. , 2.5])
    >>> as_numbers(np.ma.array([1.0, 1e9], mask=[False, True]))
    array([ 1., nan])
    """
    if type(values) is np.ndarray and _is_plain(values):
        return values.astype(np.float64)
    _check_index(values, source)
    try:
        masked = _as_masked(values)
        array = np.asarray(_as_cpu_tensor(values) if masked is None else masked.data)
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(f"{_no_numbers(values, source)}: {said:.120}") from error
    if _is_text(values):
        raise ValueError(_no_numbers(values, source))
    numbers = _as_floats(array, masked, values, source)
    if masked is not None:
        numbers[np.ma.getmaskarray(masked)] = np.nan
    return numbers


def _is_plain(array: NDArray[Any]) -> bool:
    kind = array.dtype.kind
    return kind in "iub" or (kind == "f" and array.dtype.itemsize <= _DOUBLE)


def _as_floats(array: NDArray[Any], masked: Any, values: object, source: str) -> Fitness:
    """Give the numbers of an array of any kind as float64."""
    if _is_plain(array):
        return array.astype(np.float64)
    if masked is not None and array.dtype == object:
        array = np.where(np.ma.getmaskarray(masked), np.nan, array)  # whatever is behind a mask does not count
    if array.dtype == object:
        missing = _missing()
        listed = [np.nan if any(one is other for other in missing) else one for one in array.flat]
        if not listed or not all(isinstance(one, Real | Decimal | np.bool_) for one in listed):
            raise ValueError(_no_numbers(values, source))
        array = np.array(listed, dtype=object).reshape(array.shape)  # too large for int64, fractions, decimals
    elif array.dtype.kind != "f" and not _is_extension(array.dtype):
        raise ValueError(_no_numbers(values, source))
    try:
        with np.errstate(over="ignore"):
            numbers = array.astype(np.float64)
        fits = all(abs(one) == np.inf for one in array[np.isinf(numbers)])
    except OverflowError:
        fits = False
    except (ValueError, TypeError) as error:  # a signalling nan, say
        raise ValueError(f"{_no_numbers(values, source)}: {error}") from error
    if not fits:
        raise ValueError(f"expected numbers {source}, got numbers beyond those of a float in {_shown(values)}")
    return numbers


def _is_extension(dtype: np.dtype[Any]) -> bool:
    """Whether it is a kind of numbers that NumPy itself has not, such as JAX's bfloat16."""
    return dtype.kind == "V" and dtype.names is None and not issubclass(dtype.type, np.void)


def _is_text(values: object) -> bool:
    """Whether NumPy would take the characters of a text for numbers."""
    return isinstance(values.obj if isinstance(values, memoryview) else values, bytes | bytearray)


def _as_masked(values: object) -> Any:
    """Give what has a mask, or a sequence in which something has one, as a masked array; None for all else."""
    kind = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    if kind is None:  # not imported, or another thread is about to: then nothing can have one
        return None
    if isinstance(values, kind):
        return values
    if isinstance(values, list | tuple) and any(isinstance(one, kind) for one in values):
        made = np.ma.array([np.asarray(one) for one in values])  # NumPy itself would leave out the masks
        made.mask = [bool(np.ma.getmaskarray(one).any()) for one in values]
        return made
    return None


def _as_cpu_tensor(values: object) -> object:
    """Give a tensor of torch, or a sequence of some, without what keeps NumPy from reading it."""
    if isinstance(values, list | tuple) and values and _is_tensor(values[0]):
        return [np.asarray(_as_cpu_tensor(one)) for one in values]
    if not _is_tensor(values):
        return values
    tensor: Any = values
    plain = tensor.detach().cpu()
    return plain.double() if plain.is_floating_point() else plain  # NumPy has no bfloat16


def _is_tensor(value: object) -> bool:
    return all(callable(getattr(value, name, None)) for name in ("detach", "cpu", "is_floating_point"))


def _missing() -> list[object]:
    """Give what stands for a missing number, if pandas is about: NA, but neither None nor NaT."""
    return [one for one in [getattr(sys.modules.get("pandas"), "NA", None)] if one is not None]


def _check_index(values: object, source: str) -> None:
    """Refuse a pandas Series whose index says that its numbers are in another order than the rows.

    Labels 0, 1, ... in another order come from sorting, where the labels are right, or from looking something up, where
    the order is. Any other index says nothing of rows, and numbers count in the order in which they come.
    """
    index = getattr(values, "index", None)
    if index is None or not hasattr(values, "to_numpy") or not isinstance(index, Iterable):
        return
    labels = np.asarray(index)
    if labels.ndim != 1 or labels.dtype.kind not in "iuf":
        return
    rows = np.arange(len(labels))
    if np.array_equal(np.sort(labels), rows) and not np.array_equal(labels, rows):
        raise ValueError(
            f"expected numbers {source} in the order of the rows, got a {type(values).__name__} with the index "
            f"{reprlib.repr(labels.tolist())}; return series.sort_index() to go by the index, or series.to_numpy() to "
            "go by the order"
        )


def _no_numbers(values: object, source: str) -> str:
    return f"expected numbers {source}, got {_shown(values)}"


def _shown(values: object) -> str:
    """Write what came in one short line, whatever its repr does."""
    text = " ".join(reprlib.repr(values).split())
    return f"{type(values).__name__} {text if len(text) <= 40 else text[:37] + '...'}"

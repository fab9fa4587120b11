"""Numbers as others give them: taken where they are numbers, refused in one line where they are not."""

from __future__ import annotations

import array
import sys
import types
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from daedal.settings.numbers import as_numbers

NAN = float("nan")
TOO_LARGE = np.ldexp(np.longdouble(1), 5000)  # inf where long doubles are no longer than doubles
HAS_LONG = bool(np.isfinite(TOO_LARGE))


def same(values: object, expected: object) -> bool:
    came = as_numbers(values)
    assert came.dtype == np.float64
    return np.array_equal(came, np.array(expected, dtype=np.float64), equal_nan=True)


# NumPy


MASKED: dict[str, tuple[Any, Any]] = {
    "floats": (np.ma.array([1.0, 1e9], mask=[False, True]), [1.0, NAN]),
    "whole numbers": (np.ma.array([1, 2], mask=[True, False]), [NAN, 2.0]),
    "truth values": (np.ma.array([True, True], mask=[True, False]), [NAN, 1.0]),
    "objects, and no number behind the mask": (
        np.ma.array([Decimal(1), "x"], mask=[False, True], dtype=object),
        [1.0, NAN],
    ),
    "no mask": (np.ma.array([1.0, 2.0]), [1.0, 2.0]),
    "all": (np.ma.masked_all(2), [NAN, NAN]),
    "one number": (np.ma.array(5.0, mask=True), NAN),
    "one number without a mask": (np.ma.array(5.0), 5.0),
    "the constant": (np.ma.masked, NAN),
    "the constant in a list": ([1.0, np.ma.masked], [1.0, NAN]),
    "the constant in a tuple of whole numbers": ((np.ma.masked, 7), [NAN, 7.0]),
    "single numbers in a list": ([np.ma.array(9.0, mask=True), np.ma.array(1.0)], [NAN, 1.0]),
}


@pytest.mark.parametrize("case", MASKED)
def test_what_is_masked_has_no_value(case: str) -> None:
    values, expected = MASKED[case]
    assert same(values, expected)


@pytest.mark.parametrize("dtype", ["f2", "f4", ">f8", "<f8", "g", "i1", ">i8", "u8", "?"])
def test_every_kind_of_number_is_copied(dtype: str) -> None:
    values = np.array([0, 1, 1], dtype=dtype)
    came = as_numbers(values)
    assert same(values, [0.0, 1.0, 1.0])
    assert not np.shares_memory(came, values)


def test_infinity_is_a_number_and_shapes_stay() -> None:
    assert same(np.array([np.inf, -np.inf], dtype="g"), [np.inf, -np.inf])
    assert same([Decimal("inf"), Decimal("-inf")], [np.inf, -np.inf])
    assert same(np.array([[np.True_], [np.False_]], dtype=object), [[1.0], [0.0]])
    assert as_numbers(np.empty((0, 3), dtype=np.float32)).shape == (0, 3)


# Python


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (range(3), [0.0, 1.0, 2.0]),
        ((1, 2.5), [1.0, 2.5]),
        ([True, 2], [1.0, 2.0]),
        (array.array("h", [3, -4]), [3.0, -4.0]),
        (memoryview(array.array("d", [0.5, 1.5])), [0.5, 1.5]),
        ([Fraction(1, 4), Decimal("0.5"), 10**30], [0.25, 0.5, 1e30]),
        ([Decimal("nan"), Decimal(1)], [NAN, 1.0]),
        ([np.float32(0.5), np.array(2)], [0.5, 2.0]),
    ],
)
def test_what_python_calls_numbers(values: object, expected: list[float]) -> None:
    assert same(values, expected)


class Loud:
    """What cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no\nwords")


class Broken:
    """What says that it is an array, and is none."""

    def __array__(self, *_: object, **__: object) -> Any:
        raise KeyError("no\nnumbers")


NO_NUMBERS: dict[str, Callable[[], object]] = {
    "text": lambda: "12",
    "bytes": lambda: b"12",
    "a bytearray": lambda: bytearray(b"12"),
    "a view of bytes": lambda: memoryview(b"12"),
    "an array of characters": lambda: array.array("w" if sys.version_info >= (3, 13) else "u", "12"),
    "numbers as text": lambda: [1.0, "2"],
    "None": lambda: None,
    "None among numbers": lambda: [1.0, None],
    "None among objects": lambda: np.array([1.0, None], dtype=object),
    "a generator": lambda: (i for i in (1, 2)),
    "a dict": lambda: {0: 1.0, 1: 2.0},
    "its values": lambda: {0: 1.0}.values(),
    "a set": lambda: {1.0, 2.0},
    "lists of different lengths": lambda: [1, [2, 3]],
    "complex numbers": lambda: np.array([1 + 0j]),
    "one in a list": lambda: [1.0, 2j],
    "dates": lambda: np.array(["2020-01-01"], dtype="M8[D]"),
    "durations": lambda: np.array([1], dtype="m8[s]"),
    "records": lambda: np.array([(1, 2.0)], dtype="i4,f8"),
    "records of one number": lambda: np.rec.array([(1.0,)], dtype=[("a", "f8")]),
    "bytes of NumPy": lambda: np.zeros(2, dtype="V4"),
    "masked text": lambda: np.ma.array(["1", "2"], mask=[False, True]),
    "a nan that signals": lambda: [Decimal("sNaN")],
    "whole numbers beyond floats": lambda: [10**400],
    "fractions beyond floats": lambda: [Fraction(10**400)],
    "decimals beyond floats": lambda: [Decimal("1e400")],
    "decimals below all floats": lambda: [1.0, Decimal("-1e400")],
    "what cannot be shown": Loud,
    "what fails to be an array": Broken,
    "a function": lambda: len,
}


@pytest.mark.parametrize("case", NO_NUMBERS)
def test_what_is_no_number_is_refused_in_one_short_line(case: str) -> None:
    with pytest.raises(ValueError, match=r"^expected numbers as scores") as caught:
        as_numbers(NO_NUMBERS[case](), source="as scores")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


@pytest.mark.skipif(not HAS_LONG, reason="long doubles are doubles here")
@pytest.mark.parametrize("sign", [1, -1])
def test_long_doubles_beyond_all_floats_are_neither_infinite_nor_infeasible(sign: int) -> None:
    with pytest.raises(ValueError, match="beyond those of a float"):
        as_numbers(np.array([1, sign * TOO_LARGE], dtype=np.longdouble))


# pandas, torch and JAX: stand-ins that behave as they do, and the real ones where they are installed


class Series:
    """A pandas Series, as far as anybody looks at it."""

    def __init__(self, values: Any, index: Any) -> None:
        self.values, self.index = values, index

    def to_numpy(self) -> Any:
        return np.array(self.values)

    def __array__(self, *_: object, **__: object) -> Any:
        return self.to_numpy()


def series_of(kind: str) -> Callable[..., Any]:
    return Series if kind == "stand-in" else pytest.importorskip("pandas").Series  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", ["stand-in", "pandas"])
@pytest.mark.parametrize("index", [[0, 1, 2], [7, 3, 3], [2, 3, 1], ["b", "a", "c"], [(1, 0), (0, 1), (2, 2)]])
def test_a_series_counts_in_its_order_where_the_index_says_nothing_else(kind: str, index: list[Any]) -> None:
    assert same(series_of(kind)([4.0, 5.0, 6.0], index=index), [4.0, 5.0, 6.0])


@pytest.mark.parametrize("kind", ["stand-in", "pandas"])
@pytest.mark.parametrize("index", [[1, 2, 0], [1.0, 0.0, 2.0]])
def test_a_series_whose_index_has_the_rows_in_another_order_is_refused(kind: str, index: list[float]) -> None:
    """It was sorted, and the index is right, or something was looked up, and the order is: nobody can tell."""
    with pytest.raises(ValueError, match=r"sort_index\(\).*to_numpy\(\)"):
        as_numbers(series_of(kind)([4.0, 5.0, 6.0], index=index))


def test_masks_that_another_thread_is_importing_are_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy.ma", types.ModuleType("numpy.ma"))  # so far it has nothing
    assert same(9.0, 9.0)
    assert same([1, 2.5], [1.0, 2.5])


def test_what_pandas_calls_missing_is_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = object()
    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(NA=missing))  # type: ignore[arg-type]
    assert same(missing, NAN)
    assert same([1, missing], [1.0, NAN])
    assert same(np.array([missing, True, np.False_], dtype=object), [NAN, 1.0, 0.0])


def test_missing_values_of_pandas_itself() -> None:
    pandas = pytest.importorskip("pandas")
    assert same(pandas.NA, NAN)
    for dtype in ("Int64", "Float64", "boolean"):
        assert same(pandas.Series([1, pandas.NA], dtype=dtype), [1.0, NAN])
    assert same(pandas.Series([3, 1], dtype="category"), [3.0, 1.0])
    assert same(pandas.arrays.SparseArray([0.0, 2.0]), [0.0, 2.0])
    assert as_numbers(pandas.DataFrame({"a": [1.0, 2.0]})).shape == (2, 1)
    for values in (pandas.NaT, pandas.Series(["1", "2"]), pandas.Categorical(["a"]), pandas.to_timedelta([1])):
        with pytest.raises(ValueError, match=r"^expected numbers"):
            as_numbers(values)


class Tensor:
    """A tensor of torch, as far as anybody looks at it: on a device, with a gradient, of a kind that NumPy lacks."""

    def __init__(self, values: Any, *, ready: frozenset[str] = frozenset(), floating: bool = True) -> None:
        self.values, self.ready, self.floating = values, ready, floating

    def _with(self, step: str) -> Tensor:
        return Tensor(self.values, ready=self.ready | {step}, floating=self.floating)

    def detach(self) -> Tensor:
        return self._with("detached")

    def cpu(self) -> Tensor:
        return self._with("here")

    def double(self) -> Tensor:
        return self._with("double")

    def is_floating_point(self) -> bool:
        return self.floating

    def __array__(self, *_: object, **__: object) -> Any:
        missing = {"detached", "here"} | ({"double"} if self.floating else set())
        if missing - self.ready:
            raise RuntimeError("Can't call numpy() on this")
        return np.array(self.values)


def test_a_tensor_is_its_numbers_wherever_it_is_and_whatever_it_remembers() -> None:
    assert same(Tensor([1.0, 2.0]), [1.0, 2.0])
    assert same(Tensor([1, 2], floating=False), [1.0, 2.0])
    assert same([Tensor(1.0), Tensor(2.0)], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"Can't call numpy\(\)"):
        as_numbers([1.0, Tensor(2.0)])


def test_tensors_of_torch_itself() -> None:
    torch = pytest.importorskip("torch")
    for values in (
        torch.tensor([1.0, 2.0], requires_grad=True),
        torch.tensor([1.0, 2.0], dtype=torch.bfloat16),
        torch.tensor([1, 2]),
        [torch.tensor(1.0, requires_grad=True), torch.tensor(2.0)],
    ):
        assert same(values, [1.0, 2.0])
    for values in (torch.tensor([1 + 0j]), torch.empty(2, device="meta"), torch.eye(2).to_sparse()):
        with pytest.raises(ValueError, match=r"^expected numbers"):
            as_numbers(values)


def test_numbers_that_numpy_itself_lacks() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert same(np.array([1.5, 2.0], dtype=ml_dtypes.bfloat16), [1.5, 2.0])

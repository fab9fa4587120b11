"""Lasso and least squares on sparse columns of signs, which `kernels.walsh` lays out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, njit

_Floats = NDArray[np.float64]
_Integers = NDArray[np.int64]
_Entries = NDArray[np.uint32]  # unsigned, so that no index has to be checked for a place from the end


@njit(inline="always", **OPTIONS)
def _sum(residual: _Floats, equations: _Entries) -> float:
    """Add up the residual over some equations, in four sums, so that none waits for the one before."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    fours = equations.size // 4
    for k in range(fours):
        a += residual[equations[4 * k]]
        b += residual[equations[4 * k + 1]]
        c += residual[equations[4 * k + 2]]
        d += residual[equations[4 * k + 3]]
    for k in range(4 * fours, equations.size):
        a += residual[equations[k]]
    return (a + b) + (c + d)


@njit(inline="always", **OPTIONS)
def column_total(residual: _Floats, entries: _Entries, bounds: _Integers) -> float:
    """Add up sign times residual over the training equations of a column."""
    plus: float = _sum(residual, entries[bounds[0] : bounds[1]])
    minus: float = _sum(residual, entries[bounds[1] : bounds[2]])
    return plus - minus


@njit(inline="always", **OPTIONS)
def _take(residual: _Floats, entries: _Entries, bounds: _Integers, first: int, step: float) -> None:
    """Take step times a column from the residual: its parts `first` and `first` + 1."""
    for e in entries[bounds[first] : bounds[first + 1]]:
        residual[e] -= step
    for e in entries[bounds[first + 1] : bounds[first + 2]]:
        residual[e] += step


@njit(**OPTIONS)
def take_columns(columns: _Integers, bounds: _Integers, entries: _Entries, steps: _Floats, residual: _Floats) -> None:
    """Take the sum of steps times columns from the residual of all equations."""
    for q in range(columns.size):
        c = columns[q]
        _take(residual, entries, bounds[c], 0, steps[c])
        _take(residual, entries, bounds[c], 2, steps[c])


@njit(**OPTIONS)
def held_out_error(
    bounds: _Integers, entries: _Entries, w: _Floats, y: _Floats, train: int, residual: _Floats
) -> float:
    """Set the residual of the equations held out, those from `train` on, and add up its squares."""
    for e in range(train, y.size):
        residual[e] = y[e]
    for c in range(w.size):
        if w[c] != 0.0:
            _take(residual, entries, bounds[c], 2, w[c])
    total = 0.0
    for e in range(train, y.size):
        total += residual[e] * residual[e]
    return total


@njit(**OPTIONS)
def _pass(
    columns: _Integers, bounds: _Integers, entries: _Entries, limits: _Floats, everything: bool, residual: _Floats,
    w: _Floats,
) -> float:  # fmt: skip
    """Minimise over one column after the other; the largest change."""
    largest = 0.0
    for q in range(columns.size):
        c = columns[q]
        norm = float(bounds[c, 4 if everything else 2] - bounds[c, 0])
        z = column_total(residual, entries, bounds[c]) + norm * w[c]
        if everything:
            z += column_total(residual, entries, bounds[c, 2:])
        if z > limits[c]:
            new = (z - limits[c]) / norm
        elif z < -limits[c]:
            new = (z + limits[c]) / norm
        else:
            new = 0.0
        step = new - w[c]
        if step != 0.0:
            w[c] = new
            largest = max(largest, abs(step))
            _take(residual, entries, bounds[c], 0, step)
            if everything:
                _take(residual, entries, bounds[c], 2, step)
    return largest


@njit(**OPTIONS)
def descend(
    columns: _Integers, bounds: _Integers, entries: _Entries, limits: _Floats, passes: int,
    tolerance: float, everything: bool, residual: _Floats, w: _Floats,
) -> None:  # fmt: skip
    """Minimise |y - A w|^2 / 2 + sum of limits |w| over the given columns by coordinate descent.

    Of the training equations, or of everything; keeps the residual of those. One pass over all
    columns, and then up to `passes` over those with a coefficient, until none changes by more than `tolerance`.
    """
    if _pass(columns, bounds, entries, limits, everything, residual, w) < tolerance:
        return
    nonzero = columns[w[columns] != 0.0]
    for _ in range(passes):
        if _pass(nonzero, bounds, entries, limits, everything, residual, w) < tolerance:
            return


@njit(**OPTIONS)
def least_squares(
    columns: _Integers, bounds: _Integers, entries: _Entries, iterations: int, tolerance: float, everything: bool,
    residual: _Floats, w: _Floats,
) -> int:  # fmt: skip
    """Minimise |y - A w|^2 over the given columns from where w is, by conjugate gradients (CGLS).

    Of the training equations, or of everything; keeps the residual of those. Ends after `iterations`, or where the
    gradient has fallen to `tolerance` times what it was; returns how many it took.
    """
    size = columns.size
    gradient, direction, image = np.empty(size), np.zeros(size), np.empty(residual.size)
    before, first, done = 0.0, 0.0, 0
    while True:
        norm = _project(columns, bounds, entries, everything, residual, gradient)
        first = norm if done == 0 else first
        if norm <= tolerance * tolerance * first or done == iterations:
            return done
        ratio = norm / before if done else 0.0
        image[:] = 0.0
        for q in range(size):
            direction[q] = gradient[q] + ratio * direction[q]
            _take(image, entries, bounds[columns[q]], 0, -direction[q])
            if everything:
                _take(image, entries, bounds[columns[q]], 2, -direction[q])
        curvature = 0.0
        for e in range(image.size):
            curvature += image[e] * image[e]
        step = norm / curvature
        for q in range(size):
            w[columns[q]] += step * direction[q]
        for e in range(image.size):
            residual[e] -= step * image[e]
        before = norm
        done += 1


@njit(**OPTIONS)
def _project(
    columns: _Integers, bounds: _Integers, entries: _Entries, everything: bool, residual: _Floats, out: _Floats
) -> float:
    """Set out to the totals of the columns, and add up their squares."""
    norm = 0.0
    for q in range(columns.size):
        c = columns[q]
        out[q] = column_total(residual, entries, bounds[c])
        if everything:
            out[q] += column_total(residual, entries, bounds[c, 2:])
        norm += out[q] * out[q]
    return norm

"""Settings of every algorithm and limits, with values of any kind, from Python and from the command line.

A run works and its result is correct, or it is refused with one line: ValueError, TypeError or, for files, OSError.
"""

from __future__ import annotations

import math
import random
import shlex
import warnings
from typing import Any

import numpy as np
from cases import Case, Part, Tried
from processes import command_line, launch
from values import odd_text, odd_value

WEIGHTS = (3.0, -1.5, 2.0, 0.5, -1.0, 4.0, 1.0, -0.25, 2.5, 1.5, -2.0, 0.75)
LIMITS = (
    "max_evaluations", "max_generations", "max_seconds", "patience", "target", "seed", "n", "workers", "timeout",
    "repeats", "asynchronous", "deduplicate", "known", "run",
)  # fmt: skip


def objective(x: Any) -> Any:
    return (x * WEIGHTS[: x.shape[1]]).sum(axis=1)


def attempt(case: Case) -> Tried:
    """Run with up to three odd settings."""
    return (by_words if case.rng.random() < 0.3 else by_keywords)(case)


def draw(rng: random.Random, value: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Draw an algorithm, values for some of its settings, and limits; `value` draws a value."""
    import daedal

    algorithm = rng.choice(sorted(daedal.algorithms()))
    known = sorted(daedal.algorithms()[algorithm].parameters())
    chosen = {name: value(rng) for name in rng.sample(known, min(len(known), rng.randint(0, 3)))}
    if "popsize" in known and "popsize" not in chosen:
        chosen["popsize"] = rng.choice((1, 2, 3, 10, 20))
    limits: dict[str, Any] = {
        "max_evaluations": rng.choice((1, 2, 10, 100)),
        "n": rng.choice((1, 2, 3, 8, 12)),
        "seed": rng.randrange(9),
    }
    if rng.random() < 0.4:
        limits[rng.choice(LIMITS)] = value(rng)
    if "workers" in limits and limits["workers"] not in (None, "", 0, -1):
        limits["workers"] = rng.choice((0, -1, 1, True, 1.5, "1", None, 10**9))  # each takes a second to start
    return algorithm, chosen, limits


def by_keywords(case: Case) -> Tried:
    algorithm, chosen, limits = draw(case.rng, odd_value)
    initial = odd_rows(case.rng) if case.rng.random() < 0.1 else None

    def work() -> list[str]:
        import daedal

        warnings.simplefilter("ignore")
        try:
            result = daedal.maximize(objective, algorithm=algorithm, initial=initial, **limits | chosen)
        except (ValueError, TypeError, OSError) as error:
            return [] if str(error) and "\n" not in str(error) else [f"an error of other than one line: {str(error)!r}"]
        return wrong_with(result, limits)

    given = limits | chosen | ({} if initial is None else {"initial": initial})
    shown = ", ".join(f"{name}={value!r}" for name, value in given.items())
    ended = launch(work, case.folder, memory=3 * 2**30).wait()
    problems = ended.complaints(codes=(0,)) + (ended.answer or [])
    return Tried(f"maximize(objective, algorithm={algorithm!r}, {shown})"[:400].replace("\n", " "), problems)


def wrong_with(result: Any, limits: dict[str, Any]) -> list[str]:
    """Return what is wrong with a result."""
    found, n = [], len(limits["n"]) if isinstance(limits["n"], range | list | tuple | dict) else limits["n"]  # of names
    if result.x.dtype != np.uint8 or result.x.shape != (n,) or not np.isin(result.x, (0, 1)).all():
        found.append(f"x is no row of {n} bits: {result.x!r}")
    elif result.fitness != objective(result.x[None, :].astype(np.int64))[0]:
        found.append(f"fitness {result.fitness!r} is not that of x")
    if result.evaluations < result.failed:
        found.append(f"counts do not add up: {result!r}")
    most = limits.get("max_evaluations")
    if isinstance(most, int) and result.evaluations > most:
        found.append(f"{result.evaluations} evaluations, more than {most}")
    if any(math.isnan(record.best) or math.isnan(record.mean) for record in result.history):
        found.append("nan in the history")
    if limits.get("target") is not None and math.isnan(float(limits["target"])):
        found.append("a target that is not a number was taken")
    return found


def odd_rows(rng: random.Random) -> Any:
    """Draw initial candidates, most of them impossible."""
    zeros, ones = np.zeros((2, 8), dtype=int), np.ones((2, 8), dtype=int)
    good = (zeros.astype(np.uint8), np.ones((50, 8), dtype=bool), (zeros, [1.0, 2.0]))
    valued = ((zeros, [1.0, math.nan]), (zeros, [1.0]), (zeros, None), ())
    shapes = (zeros[:0], np.zeros((3, 0)), zeros[0], zeros[..., None], [[0, 1], [1]], 5, "0101", np.array(["01"]))
    contents = (2 * ones, np.full((2, 8), math.nan), [[None] * 8], np.ma.array(ones, mask=True), ones.astype(object))
    return rng.choice((*good, *valued, *shapes, *contents))


def by_words(case: Case) -> Tried:
    algorithm, chosen, limits = draw(case.rng, odd_text)
    problem = "trap:k=4,n=8" if case.rng.random() < 0.7 else "onemax:n=1"
    words = ["solve", problem, "-a", algorithm, "--json", "--max-evaluations", "50"]
    for name, value in chosen.items():
        words += ["--set", f"{name}={value}"]
    for name in set(limits) & {"max_generations", "patience", "target", "seed", "timeout", "max_seconds"}:
        words += [f"--{name.replace('_', '-')}", str(limits[name])]
    ended = launch(command_line(words), case.folder, memory=3 * 2**30).wait()
    problems = ended.complaints()
    if "NaN" in ended.out or "Infinity" in ended.out:
        problems.append("nan in the result")
    return Tried(shlex.join(["daedal", *(word[:200] for word in words)]), problems)


PART = Part(2_000, 50, attempt)

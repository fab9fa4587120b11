"""Objectives that return, raise, print, fork, hang, exit and allocate, under each policy and engine.

The outcome is a correct result or one clear error. Counts add up, standard output is JSON, and nothing is left.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import strange
from cases import Case, Part, Tried
from commands import not_json
from processes import command_line, launch

KINDS = random.Random(0).sample(sorted(strange.KINDS), len(strange.KINDS))
POLICIES = ("raise", "worst", "retry:2", "retry:1,worst")
ENGINES = ("serial", "workers", "timeout", "python", "threads", "asynchronous")
MANY = ("workers", "timeout", "asynchronous")
"""Engines with processes of their own."""

DASK = 2
"""Cases with Dask, which takes seconds to start, after all others."""

SECONDS = 60.0
SIZE = {"n": 6, "algorithm": "umda", "popsize": 6, "max_evaluations": 12, "seed": 1}
MAY_LEAVE_HERE = {
    "a_thread", "a_busy_thread", "closes_stdout", "closes_1", "closes_0", "forks", "reads", "no_stdout", "odd_stdout",
    *strange.LEAVES,
}  # fmt: skip
"""Objectives that leave threads and descriptors in the process that called them."""

NO_EXCEPTIONS = {"interrupt", "base", "generator_exit", "cancelled", "leaves_0", "leaves_3", "leaves_text"}


def drawn(index: int) -> tuple[str, str, str]:
    """Return kind, policy and engine of a case; twenty rounds combine each with each."""
    turn, at = divmod(index, len(KINDS))
    if turn >= 20:
        return KINDS[index * 37 % len(KINDS)], "raise", "dask"
    kind, policy, engine = KINDS[at], POLICIES[(turn + at // 5) % 4], ENGINES[(turn + at) % len(ENGINES)]
    if kind in strange.HANGS:
        engine = "timeout"
    if kind in strange.ENDS and engine not in MANY:
        engine = "workers"
    return kind, policy, engine


def attempt(case: Case) -> Tried:
    """Maximize one objective."""
    kind, policy, engine = drawn(case.index)
    shutil.copy(strange.__file__, case.folder / "strange.py")
    if engine in ("python", "threads"):
        what, problems = by_function(case.folder, kind, policy, threads=engine == "threads")
    else:
        what, problems = by_words(case.folder, kind, policy, engine)
    return Tried(what, problems, may_leave=kind in strange.LEAVES and engine not in MANY)


def by_words(folder: Path, kind: str, policy: str, engine: str) -> tuple[str, list[str]]:
    engines = {
        "serial": [],
        "workers": ["--workers", "2"],
        "timeout": ["--timeout", "0.5"],
        "asynchronous": ["--workers", "2", "--asynchronous"],
        "dask": ["--dask", "local:1"],
    }
    words = ["solve", f"strange.py:{kind}", "--json", "--on-error", policy, *engines[engine]]
    for name, value in SIZE.items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    ended = launch(command_line(words), folder, memory=8 * 2**30).wait(SECONDS)
    codes = (0, 2, 3, 130) if kind == "interrupt" else (0, 2, 3)
    problems = ended.complaints(codes)
    if ended.long and not ended.hung:
        problems.append(f"took longer than {SECONDS:g} s")
    if ended.code in (0, 3):  # 3: nothing feasible was found
        problems += not_json(ended.out) or wrong_with(json.loads(ended.out))
    elif ended.out and ended.code == 2:
        problems += not_json(ended.out)
    return f"daedal {' '.join(words)}", problems


def wrong_with(report: dict[str, Any]) -> list[str]:
    """Return what is wrong with a result; the value of every objective here is the number of ones."""
    found = []
    if len(report["x"]) != SIZE["n"] or set(report["x"]) - set("01"):
        found.append(f"x is no row of bits: {report['x']!r}")
    if report["fitness"] is not None and report["fitness"] != report["x"].count("1"):
        found.append(f"fitness {report['fitness']!r} is not that of {report['x']}")
    if report["evaluations"] < report["failed"]:
        found.append(f"counts do not add up: {report}")
    if report["evaluations"] > 12:
        found.append(f"more calls than allowed: {report}")
    if report["failed"] and not report["failures"]:
        found.append("rows failed without a reason")
    return found


def by_function(folder: Path, kind: str, policy: str, *, threads: bool) -> tuple[str, list[str]]:
    """Maximize from Python, in one process or with threads."""

    def work() -> list[str]:
        import daedal

        warnings.simplefilter("ignore")
        objective = strange.KINDS[kind]
        before = held()
        try:
            if threads:
                with ThreadPoolExecutor(2) as executor:
                    result = daedal.maximize(objective, executor=executor, on_error=policy, **SIZE)
            else:
                result = daedal.maximize(objective, on_error=policy, **SIZE)
        except (ValueError, TypeError) as error:
            return [] if str(error) else [f"{type(error).__name__} without a word"]
        except BaseException as error:  # noqa: BLE001  what is no Exception is not daedal's to catch
            return [] if kind in NO_EXCEPTIONS else [f"{type(error).__name__} came out"]
        report = {name: getattr(result, name) for name in ("fitness", "evaluations", "repeated", "failed", "failures")}
        report["x"] = "".join(map(str, result.x))
        report["fitness"] = None if abs(result.fitness) == float("inf") else result.fitness
        now = held()
        left = (
            [f"descriptors and threads {now}, before {before}"] if now != before and kind not in MAY_LEAVE_HERE else []
        )
        return wrong_with(report) + left

    ended = launch(work, folder, memory=8 * 2**30).wait(SECONDS)
    problems = [one for one in ended.complaints(codes=(0,)) if "control" not in one]
    what = f"maximize(strange.{kind}, on_error={policy!r}{', executor=ThreadPoolExecutor(2)' if threads else ''})"
    return what, problems + (ended.answer or [])


def held() -> tuple[int, int]:
    """Count open descriptors and threads."""
    return len(os.listdir("/proc/self/fd")), threading.active_count()


PART = Part(20 * len(KINDS) + DASK, 40, attempt)

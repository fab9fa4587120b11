"""Values that scatter: what the row that is reported is truly worth, and whether its standard error is honest.

    python benchmarks/noise.py                               # all tables, in Markdown, as docs/noise.md has them
    python benchmarks/noise.py --table small --seeds 300-319 --only "trap:k=4,n=40,sd=2"
    PYTHONPATH=/tmp/old/src python benchmarks/noise.py --table before    # an older version, which has no noisy=True

Every run has variables that are shuffled and masked by its seed, noise drawn from it, and for `interact` the instance
seed mod 5. Choices were made on seeds 0-99; the tables have seeds 300-319, that of standard errors 300-699.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import daedal
from counting import Counting
from instances import make

LARGE = ("onemax:n=50,sd=5", 20_000)
ALGORITHMS = ("auto", "umda", "hboa", "pbil", "mix", "ils")
SMALL = [
    (function, calls)
    for function in ("onemax:n=50,sd=1", "onemax:n=50,sd=5", "interact:n=60,sd=2", "trap:k=4,n=40,sd=2")
    for calls in (300, 1000, 3000)
]
NOISY, ALONE = {"noisy": True}, {"deduplicate": False}


def run(function: str, calls: int, seed: int, how: dict[str, Any]) -> tuple[daedal.Result, Counting]:
    """Make one run; give its result, and the function that it saw."""
    counting = Counting(make(function, seed % 5), seed, calls, ends=False)
    result = daedal.maximize(counting, n=counting.n, seed=seed, max_evaluations=calls, **how)
    if counting.calls > calls:
        raise AssertionError(f"{counting.calls} calls where {calls} were allowed")
    return result, counting


def true_values(function: str, calls: int, seeds: Iterable[int], how: dict[str, Any]) -> list[float]:
    """Give what the reported rows of some runs are worth without noise."""
    done = (run(function, calls, seed, how) for seed in seeds)
    return [counting.true_value(result.x) for result, counting in done]


def mean_sd(values: Sequence[float]) -> str:
    return f"{statistics.fmean(values):.2f} +- {statistics.pstdev(values):.2f}"


def line(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def head(*cells: str) -> None:
    line(*cells)
    line(*("---" for _ in cells))


def table_large(seeds: range, only: str) -> None:
    """Show the true value at many calls, by algorithm."""
    head(f"{LARGE[0]}, {LARGE[1]:,} calls", "noisy=True", "deduplicate=False")
    for algorithm in ALGORITHMS:
        if only in algorithm:
            cells = [mean_sd(true_values(*LARGE, seeds, {"algorithm": algorithm, **how})) for how in (NOISY, ALONE)]
            line(algorithm, *cells)


def table_small(seeds: range, only: str) -> None:
    """Show the true value at few calls, of the default."""
    head("true value", "calls", "noisy=True", "deduplicate=False")
    for function, calls in SMALL:
        if only in function:
            line(function, f"{calls:,}", *(mean_sd(true_values(function, calls, seeds, how)) for how in (NOISY, ALONE)))


def table_before(seeds: range, only: str) -> None:
    """Show the same for a version without noisy=True."""
    head("true value", "calls", "deduplicate=False, before")
    for function, calls in [LARGE, *SMALL]:
        if only in function:
            line(function, f"{calls:,}", mean_sd(true_values(function, calls, seeds, ALONE)))


def table_errors(seeds: range, only: str) -> None:
    """Show z = (mean - true value) / standard error of the row that is reported, and how far off single values are."""
    head("function", "calls", "algorithm", "z, mean +- sd", "z within 1.96", "deduplicate=False: too good by")
    for function, calls in [SMALL[3], SMALL[4], SMALL[6], SMALL[7]]:
        for algorithm in ("auto", "umda"):
            if only not in function:
                continue
            z, excess = [], []
            for seed in seeds:
                result, counting = run(function, calls, seed, {"algorithm": algorithm, **NOISY})
                assert result.standard_error is not None
                z.append((result.fitness - counting.true_value(result.x)) / result.standard_error)
                if seed < seeds.start + 20:
                    alone, counting = run(function, calls, seed, {"algorithm": "umda", **ALONE})
                    excess.append(alone.fitness - counting.true_value(alone.x))
            within = sum(abs(one) < 1.96 for one in z) / len(z)
            line(
                function, f"{calls:,}", algorithm, mean_sd(z), f"{within:.1%}", f"{statistics.fmean(excess):.1f} (umda)"
            )


def table_tiny(seeds: range, only: str) -> None:
    """Show repeats=5 with next to no calls."""
    head("max_evaluations", "calls", "measurements", "true value", "a random row")
    for calls in (1, 2, 5, 6, 10, 20):
        results = [run("onemax:n=50,sd=1", calls, seed, {"repeats": 5}) for seed in seeds]
        counts = sorted({result.measurements for result, _ in results})
        used = sorted({counting.calls for _, counting in results})
        true = [counting.true_value(result.x) for result, counting in results]
        line(calls, *(" to ".join(map(str, sorted({both[0], both[-1]}))) for both in (used, counts)), mean_sd(true), 25)


TABLES = {
    "large": (table_large, range(300, 320)),
    "small": (table_small, range(300, 320)),
    "errors": (table_errors, range(300, 700)),
    "tiny": (table_tiny, range(300, 320)),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", choices=[*TABLES, "before"], help="one table, not all")
    parser.add_argument("--seeds", help="first-last")
    parser.add_argument("--only", default="", help="functions, or algorithms, whose names contain this")
    words = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.getLogger("daedal").setLevel(logging.ERROR)
    chosen = {words.table} if words.table else set(TABLES)
    for name, (table, seeds) in {**TABLES, "before": (table_before, range(300, 320))}.items():
        if name in chosen:
            if words.seeds:
                first, _, last = words.seeds.partition("-")
                seeds = range(int(first), int(last or first) + 1)
            print(f"\n`python benchmarks/noise.py --table {name} --seeds {seeds.start}-{seeds.stop - 1}`\n")
            table(seeds, words.only)
    return 0


if __name__ == "__main__":
    sys.exit(main())

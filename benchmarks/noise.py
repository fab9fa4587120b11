"""Noisy objectives: the true value of the reported candidate, and whether its standard error is right.

    python benchmarks/noise.py large > docs/data/noise.csv
    python benchmarks/noise.py small --seeds 300-319 --only "trap:k=4,n=40,sd=2"

Every run has variables that are shuffled and masked by its seed, noise drawn from it, and for `interact` the instance
seed mod 5. Choices were made on seeds 0-99. The tables use seeds 300-319, that of standard errors 300-699.
"""

from __future__ import annotations

import argparse
import csv
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
    return f"{statistics.fmean(values):.2f} ± {statistics.pstdev(values):.2f}"


def line(*cells: object) -> None:
    csv.writer(sys.stdout, lineterminator="\n").writerow(cells)
    sys.stdout.flush()


def table_large(seeds: range, only: str) -> None:
    """Show the true value at many calls, by algorithm."""
    line("function", "evaluations", "algorithm", "noisy=True", "deduplicate=False")
    for algorithm in ALGORITHMS:
        if only in algorithm:
            cells = [mean_sd(true_values(*LARGE, seeds, {"algorithm": algorithm, **how})) for how in (NOISY, ALONE)]
            line(*LARGE, algorithm, *cells)


def table_small(seeds: range, only: str) -> None:
    """Show the true value at few calls, of the default."""
    line("function", "evaluations", "noisy=True", "deduplicate=False")
    for function, calls in SMALL:
        if only in function:
            line(function, calls, *(mean_sd(true_values(function, calls, seeds, how)) for how in (NOISY, ALONE)))


def table_errors(seeds: range, only: str) -> None:
    """Show z = (mean - true value) / standard error of the row that is reported, and how far off single values are."""
    line(
        "function",
        "evaluations",
        "measurements",
        "z, mean ± sd",
        "z within 1.96",
        "umda, deduplicate=False: too good by",
    )
    for function, calls in [SMALL[3], SMALL[4], SMALL[6], SMALL[7]]:
        if only not in function:
            continue
        z, excess, measurements = [], [], 0
        for seed in seeds:
            result, counting = run(function, calls, seed, NOISY)
            assert result.standard_error is not None
            z.append((result.fitness - counting.true_value(result.x)) / result.standard_error)
            measurements = result.measurements
            if seed < seeds.start + 20:
                alone, counting = run(function, calls, seed, {"algorithm": "umda", **ALONE})
                excess.append(alone.fitness - counting.true_value(alone.x))
        within = f"{sum(abs(one) < 1.96 for one in z) / len(z):.1%}"
        line(function, calls, measurements, mean_sd(z), within, f"{statistics.fmean(excess):.1f}")


def table_tiny(seeds: range, only: str) -> None:
    """Show repeats=5 with next to no calls."""
    line("max_evaluations", "evaluations", "measurements", "true value", "a random row")
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
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--seeds", help="first-last")
    parser.add_argument("--only", default="", help="functions, or algorithms, whose names contain this")
    words = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.getLogger("daedal").setLevel(logging.ERROR)
    table, seeds = TABLES[words.table]
    if words.seeds:
        first, _, last = words.seeds.partition("-")
        seeds = range(int(first), int(last or first) + 1)
    table(seeds, words.only)
    return 0


if __name__ == "__main__":
    sys.exit(main())

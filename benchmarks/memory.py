"""What a run takes at many variables: the most memory of a process that makes one generation after the first.

    python benchmarks/memory.py                          # the table of docs/algorithms.md
    python benchmarks/memory.py umda tree --n 10000      # some of it

Everything is at its default, but for what would take hours: models that learn more than single variables get 1,000 rows
where there are 10,000 variables or more, training and sampling of those with hidden units is cut to one step, and ecga
looks at all pairs, but merges none. What is refused is shown with its reason.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

ALGORITHMS = ("auto", "mix", "ils", "umda", "pbil", "tree", "ecga", "boa", "hboa", "rbm", "dae-2015")
SIZES = (10_000, 100_000)
ROWS = 1_000  # for models that take long, where there are many variables
PLAIN = ("auto", "mix", "ils", "umda", "pbil")
SHORT = {
    "ecga": {"max_group": 1},
    "rbm": {"max_epochs": 1, "gibbs_steps": 1},
    "dae-2015": {"max_epochs": 1, "sampling_steps": 1},
}
CALLS = 3_000  # for searches without a population
SECONDS = 600


def one(algorithm: str, n: int, popsize: int | None) -> dict[str, object]:
    """Run in this process, and give what it took."""
    import numpy as np

    import daedal

    def ones(x: np.ndarray) -> np.ndarray:
        return x.sum(axis=1)

    searches = algorithm in ("auto", "mix", "ils")
    size: dict[str, object] = {"max_evaluations": CALLS} if searches else {"max_generations": 1}
    if popsize is not None:
        size["popsize"] = popsize
    daedal.maximize(ones, n=20, algorithm=algorithm, seed=1, **size, **SHORT.get(algorithm, {}))  # loads the kernels
    before, started = peak(), time.perf_counter()
    try:
        result = daedal.maximize(ones, n=n, algorithm=algorithm, seed=1, **size, **SHORT.get(algorithm, {}))
    except (ValueError, MemoryError) as error:
        return {"refused": str(error) or type(error).__name__, "more": peak() - before}
    seconds = time.perf_counter() - started
    return {"popsize": result.popsize, "peak": peak(), "more": peak() - before, "seconds": seconds}


def peak() -> float:
    """Give the most memory that this process has had so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e6 / 1024)


def measured(algorithm: str, n: int, popsize: int | None) -> dict[str, object]:
    command = [sys.executable, __file__, "--one", algorithm, str(n), *([] if popsize is None else [str(popsize)])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return {"refused": f"more than {SECONDS} s", "more": 0.0}
    return json.loads(done.stdout) if done.returncode == 0 else {"refused": done.stderr[-200:], "more": 0.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("algorithms", nargs="*", default=ALGORITHMS)
    parser.add_argument("--n", type=int, nargs="*", default=SIZES)
    parser.add_argument("--popsize", type=int, default=None, help="in place of the default")
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.one:
        algorithm, n, *popsize = words.one
        print(json.dumps(one(algorithm, int(n), int(popsize[0]) if popsize else None)))
        return
    print("| algorithm | n | popsize | peak, MB | seconds |\n|---|---|---|---|---|")
    for n in words.n:
        for algorithm in words.algorithms:
            slow = algorithm not in PLAIN and n >= SIZES[0]
            row = measured(algorithm, n, words.popsize or (ROWS if slow else None))
            if "refused" in row:
                print(f"| {algorithm} | {n:,} | | {row['refused']} (after {row['more']:,.0f} MB) | |", flush=True)
            else:
                size = "" if row["popsize"] is None else f"{row['popsize']:,}"
                print(f"| {algorithm} | {n:,} | {size} | {row['peak']:,.0f} | {row['seconds']:.1f} |", flush=True)


if __name__ == "__main__":
    main()

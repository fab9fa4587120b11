"""CPU time and memory of one generation of each algorithm, each in its own process.

    python benchmarks/scaling.py                          # the table of docs/algorithms.md
    python benchmarks/scaling.py umda tree --n 1000       # some of it

One run on OneMax with default settings, and one generation after the first. Searches without a population make 2 n
evaluations, and their generations have n of them. The CPU time is that between the last two records.

"formula" is the estimate by which daedal warns. If it is more than --seconds, training and sampling are cut to a few
steps, and if that is not enough, the population is cut to 1,000. The time is then multiplied by the ratio of the two
estimates and marked with "~", and the memory is the estimate for the whole.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from typing import Any

ALGORITHMS = ("auto", "mix", "ils", "umda", "pbil", "tree", "ecga", "boa", "hboa", "rbm", "dae", "dae-2015")
SIZES = (100, 1_000, 10_000)
FEW = {"popsize": 1_000}  # instead of a population that takes too long
SHORT = {
    "rbm": {"max_epochs": 4, "gibbs_steps": 4},
    "dae": {"max_epochs": 5, "min_epochs": 5, "sampling_steps": 5},
    "dae-2015": {"max_epochs": 5, "sampling_steps": 5},
}
SEARCHES = ("auto", "mix", "ils")


def peak() -> float:
    """Return the peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e6 / 1024)


def run(algorithm: str, n: int, settings: dict[str, Any]) -> Any:
    import daedal

    limits = {"max_evaluations": 2 * n} if algorithm in SEARCHES else {"max_generations": 1}
    out_of_reach = {"target": 1e9, "max_seconds": 1e9}  # the second, so that nothing is refused
    return daedal.maximize(
        lambda x: x.sum(axis=1), n=n, algorithm=algorithm, seed=1, **limits, **out_of_reach, **settings
    )


def one(algorithm: str, n: int, most: float) -> dict[str, Any]:
    """Run in this process, and return its time and memory."""
    from daedal.searches.presets import _BYTES_AN_ENTRY, find_algorithm

    def resolved(settings: dict[str, Any]) -> Any:
        return find_algorithm(algorithm).with_settings(settings).resolved(n).configuration

    run(algorithm, 20, {})  # loads the kernels
    before, whole, settings = peak(), resolved({}), dict[str, Any]()
    formula = whole.generation_seconds(n)
    for cut in (SHORT.get(algorithm, {}), FEW):
        if resolved(settings).generation_seconds(n) > most:
            settings |= cut
    ratio = formula / resolved(settings).generation_seconds(n) if settings else 1.0
    history = run(algorithm, n, settings).history
    spent = history[-1].cpu_seconds - (history[-2].cpu_seconds if len(history) > 1 else 0.0)
    size = whole.settings().get("popsize")
    memory = peak()
    if settings:
        memory = before + (whole.model.working_bytes(size // 2, n) + size * n * _BYTES_AN_ENTRY) / 1e6
    return {"seconds": spent * ratio, "cut": bool(settings), "formula": formula, "peak": memory, "popsize": size}


def measured(algorithm: str, n: int, most: float) -> str:
    """Measure in another process, and return the cells of a line."""
    command = [sys.executable, __file__, "--one", algorithm, str(n), str(most)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return f" | | | {done.stderr.strip().splitlines()[-1]}"
    row = json.loads(done.stdout)
    about = "~" if row["cut"] else ""
    size = "" if row["popsize"] is None else f"{row['popsize']:,}"
    formula = f"{row['formula']:.2g}" if row["formula"] < 10 else f"{row['formula']:,.0f}"
    seconds = f"{row['seconds']:.2g}" if row["seconds"] < 10 else f"{row['seconds']:,.0f}"
    return f"{size} | {about}{seconds} | {formula if row['formula'] else '-'} | {about}{row['peak']:,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("algorithms", nargs="*", default=ALGORITHMS)
    parser.add_argument("--n", type=int, nargs="*", default=SIZES)
    parser.add_argument("--seconds", type=float, default=60, help="estimate above which a smaller run is made")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.one:
        print(json.dumps(one(words.one[0], int(words.one[1]), float(words.one[2]))))
        return
    print("| algorithm | n | popsize | CPU seconds per generation | formula | peak, MB |\n|---|---|---|---|---|---|")
    for n in words.n:
        for algorithm in words.algorithms:
            print(f"| {algorithm} | {n:,} | {measured(algorithm, n, words.seconds)} |", flush=True)


if __name__ == "__main__":
    main()

"""How long the page of a large run takes, and how large it is.

    python benchmarks/report.py                  # 100,000 evaluations at n=500
    python benchmarks/report.py --algorithm dae  # of another algorithm

One run on traps of five with a fixed number of evaluations, saved and loaded again; then the page out of it, which is
what is timed: finding what hangs together, laying out, and writing. Beside it stands how long the run took. Ends with
an error where the page takes 20 seconds or more, or 6 MB or more.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from daedal.optimizers.registry import find_algorithm

import daedal


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--algorithm", default="umda")
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--evaluations", type=int, default=100_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        began = time.perf_counter()
        result = daedal.maximize(
            f"trap:k=5,n={given.n}",
            algorithm=given.algorithm,
            seed=1,
            max_evaluations=given.evaluations,
            max_generations=10**6,
            patience=10**6,
            target=1e9,  # out of reach: the run makes all its evaluations
            **({"popsize": "auto"} if "popsize" in find_algorithm(given.algorithm).settings() else {}),
        )
        ran = time.perf_counter()
        result.save(Path(folder) / "run.npz")
        loaded = daedal.load(Path(folder) / "run.npz")
        began_page, cpu = time.perf_counter(), time.process_time()
        loaded.report(page)
        cpu = time.process_time() - cpu
        seconds, size = time.perf_counter() - began_page, page.stat().st_size / 1e6
        saved = (Path(folder) / "run.npz").stat().st_size / 1e6
    print(f"{given.algorithm}, n={given.n}, {result.evaluations:,} evaluations, {result.generations:,} generations")
    print(f"run {ran - began:.1f} s; saved {saved:.1f} MB; page {seconds:.1f} s ({cpu:.1f} s CPU), {size:.2f} MB")
    if seconds >= 20 or size >= 6:
        sys.exit("the page takes too long, or is too large")


if __name__ == "__main__":
    main()

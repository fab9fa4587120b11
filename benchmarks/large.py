"""What a generation of `dae` costs at many variables: CPU time and memory, next to `dae-2015` and `boa`.

    python benchmarks/large.py                                     # dae-2015 ("before"), dae ("now"), boa
    python benchmarks/large.py --n 1000 --only now --set max_rows=500

The trap of 5 bits with the default population, each in a process of its own: the first population, and --generations
more. A time is the mean of these; "before" makes one generation alone, since it takes minutes. Memory is the most that
the process had.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

KINDS = {"before": "dae-2015", "now": "dae", "boa": "boa"}


def run(kind: str, n: int, generations: int, settings: dict[str, Any]) -> dict[str, Any]:
    import daedal

    result = daedal.maximize(
        f"trap:k=5,n={n}", algorithm=KINDS[kind], seed=1, max_generations=generations, max_seconds=1e9, **settings
    )
    clocks = [record.cpu_seconds for record in result.history]
    return {
        "popsize": result.popsize,
        "seconds": (clocks[-1] - clocks[0]) / (len(clocks) - 1),
        "epochs": [record.info.get("epochs", 0) for record in result.history[1:]],
        "mean": result.history[-1].mean,
        "MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, nargs="+", default=[500, 1000])
    parser.add_argument("--only", choices=list(KINDS), nargs="+", default=list(KINDS))
    parser.add_argument("--generations", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], metavar="key=value", help="for `now`")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.one:
        print(json.dumps(run(**json.loads(words.one))))
        return
    print("| n | | P | CPU s a generation | epochs | mean value at the end | MiB |\n|---|---|---|---|---|---|---|")
    for n in words.n:
        for kind in words.only:
            settings = dict(word.split("=", 1) for word in words.set) if kind == "now" else {}
            how = {"kind": kind, "n": n, "settings": settings}
            how["generations"] = 1 if kind == "before" else words.generations
            command = [sys.executable, str(Path(__file__)), "--one", json.dumps(how)]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            cells = [n, " ".join([kind, *words.set] if kind == "now" else [kind]), f"{found['popsize']:,}"]
            cells += [f"{found['seconds']:.1f}", ", ".join(map(str, found["epochs"])), f"{found['mean']:.1f}"]
            print("| " + " | ".join(map(str, [*cells, f"{found['MiB']:.0f}"])) + " |", flush=True)


if __name__ == "__main__":
    main()

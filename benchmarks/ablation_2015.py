"""What the choices behind `dae-2015` do: one changed at a time, the same seeds for all.

    python benchmarks/ablation_2015.py [--runs 20] [--first 0] [--workers 2]

"no mask" undoes the random mask that is XORed onto every row, "no shuffle" leaves variables in the problem's own order;
the others are settings of the model. All at popsize 2000.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from statistics import fmean

from daedal.optimizers.registry import find_algorithm

from daedal.problems import Problem, shuffled
from daedal.problems.registry import find_problem
from daedal.rng import Stream, stream
from daedal.run.config import RunConfig
from daedal.studies.runner import run_all
from daedal.types import Bits, Fitness

PROBLEMS = ("trap:k=4,n=40", "trap:k=5,n=50", "hiff:n=64")
VARIANTS: dict[str, dict[str, float | int | None]] = {
    "dae-2015": {},
    "weight decay of the usual sign": {"weight_decay": 0.001},
    "no weight decay": {"weight_decay": 0.0},
    "no validation set": {"validation": 0.0},
    "errors every 2 epochs": {"check_every": 2},
    "no mask": {},
    "no shuffle": {},
}


@dataclass(frozen=True)
class Unmasked:
    """A problem behind the mask of a seed, so that the mask of the run cancels out."""

    problem: Problem
    seed: int

    @property
    def n(self) -> int:
        return self.problem.n

    @property
    def optimum(self) -> float | None:
        return self.problem.optimum

    def evaluate(self, x: Bits) -> Fitness:
        mask = stream(self.seed, Stream.MASK).integers(0, 2, self.n, dtype=x.dtype)
        return self.problem.evaluate(x ^ mask)


def config(variant: str, name: str, seed: int) -> RunConfig:
    problem: str | Problem = name
    if variant == "no mask":
        problem = Unmasked(shuffled(find_problem(name), rng=stream(seed, Stream.SHUFFLE)), seed)
    return RunConfig(
        objective=problem,
        algorithm=find_algorithm("dae-2015").with_settings({**VARIANTS[variant], "popsize": 2000}),
        seed=seed,
        shuffle=variant != "no shuffle",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    wanted = parser.parse_args()
    seeds = range(wanted.first, wanted.first + wanted.runs)
    keys = [(variant, name) for variant in VARIANTS for name in PROBLEMS]
    configs = [config(variant, name, seed) for variant, name in keys for seed in seeds]
    results = dict(run_all(configs, workers=wanted.workers))
    print(f"| dae-2015, popsize 2000, seeds {seeds[0]}-{seeds[-1]} | " + " | ".join(PROBLEMS) + " |")
    print("|---|" + "---|" * len(PROBLEMS))
    for variant in VARIANTS:
        cells = []
        for name in PROBLEMS:
            start = keys.index((variant, name)) * len(seeds)
            found = [results[start + run] for run in range(len(seeds))]
            solved, to_best = sum(bool(one.success) for one in found), fmean(one.evaluations_to_best for one in found)
            cells.append(f"{solved}/{len(found)}, {to_best:,.0f}")
        print(f"| {variant} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()

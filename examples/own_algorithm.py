"""An algorithm of one's own: a bit-flip hill climber with restarts.

python examples/own_algorithm.py        # or, with everything that daedal solve has:
daedal solve trap:k=4,n=20 -a examples/own_algorithm.py:HillClimber
"""

from __future__ import annotations

import numpy as np

import daedal


class HillClimber(daedal.BaseOptimizer):
    """Takes the best flip of one bit until none helps, then begins again at random.

    A generation is a climb.
    """

    def __init__(
        self,
        *,
        n: int,
        seed: int | None = None,
        limits: daedal.Limits | None = None,
        initial: daedal.Bits | None = None,
        flips: float = 1.0,
    ) -> None:
        super().__init__(n=n, seed=seed, limits=limits, initial=initial)
        self.flips = flips  # share of the bits that are tried at a time
        self.x: daedal.Bits | None = None  # where the climb stands
        self.fitness = -np.inf

    def propose(self) -> daedal.Bits:
        if self.x is None:
            if self.generation == 0 and self.initial is not None:
                return self.initial
            return self.rng.integers(0, 2, (1, self.n), dtype=np.uint8)
        tried = self.rng.permutation(self.n)[: max(1, round(self.flips * self.n))]
        return self.x ^ np.eye(self.n, dtype=np.uint8)[tried]

    def learn(
        self,
        rows: daedal.Bits,
        fitness: daedal.Fitness,
    ) -> dict[str, float] | None:
        top = int(np.argmax(fitness))
        if self.x is None or fitness[top] > self.fitness:
            self.x, self.fitness = rows[top], float(fitness[top])
            return None
        self.x = None  # a local optimum: the climb is over
        return {"climbed_to": self.fitness}

    def state(self) -> daedal.State:
        arrays = {} if self.x is None else {"x": self.x}
        return super().state().extend(arrays=arrays, fields={"fitness": self.fitness})

    def restore(self, state: daedal.State) -> None:
        super().restore(state)
        self.x = state.row("x", self.n) if "x" in state.arrays else None
        self.fitness = state.number("fitness")


if __name__ == "__main__":
    how = {"algorithm": HillClimber, "max_evaluations": 20_000, "seed": 1}
    result = daedal.maximize("trap:k=4,n=20", **how)
    print(f"{result.generations} climbs: {result.fitness:.0f} of {result.optimum:.0f}")
    heights = [record.info["climbed_to"] for record in result.history[:10]]
    print("the first ten:", *heights)

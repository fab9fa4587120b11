"""What is varied in `ablation`: the settings of `dae` by the question that they are about, and the problems."""

from __future__ import annotations

from dataclasses import dataclass

from instance_files import DATA, FILES, KNOWN

Settings = dict[str, object]

BEFORE: Settings = {
    "hidden": None, "corruption": 0.05, "learning_rate": 0.1, "momentum": 0.3, "weight_decay": 0.0, "init_scale": 0.005,
    "biases": "normal", "warm_start": 0.0, "batch_size": 100, "max_rows": None, "validation": 0.0, "gamma": 0.05,
    "check_every": 5, "min_epochs": 50, "max_epochs": 2000, "sampling_steps": 10, "binarise": False,
}  # fmt: skip
"""`DAE.author_2016()`: the settings of the author's later program with a corruption of 0.05."""

BASE: Settings = {
    **BEFORE, "corruption": 0.03, "warm_start": 0.5, "max_rows": 500, "max_epochs": 50, "learning_rate": 0.4,
}  # fmt: skip
"""What variants change and are compared with: half of the last parameters kept, then 250 updates. `dae` is this with a
learning rate that goes by n, which was chosen last."""

BASELINE = "baseline"

_DEEP: Settings = {"hidden": "{n},{half}", "init_scale": "glorot"}
_CONVERGED: Settings = {"max_epochs": 2000}

QUESTIONS: dict[str, dict[str, Settings]] = {
    "before": {
        "before": BEFORE,
        "dae": {"learning_rate": "{rate}"},
        "before, 0.5 kept": {**BEFORE, "warm_start": 0.5},
        "before, 500 rows": {**BEFORE, "max_rows": 500},
        "before, at most 50 epochs": {**BEFORE, "max_epochs": 50},
        "before, rate 0.4": {**BEFORE, "learning_rate": 0.4},
        "before, corruption 0.03": {**BEFORE, "corruption": 0.03},
    },
    "init": {
        "0.001": {"init_scale": 0.001},
        "0.05": {"init_scale": 0.05},
        "0.2": {"init_scale": 0.2},
        "glorot": {"init_scale": "glorot"},
        "biases from marginals": {"biases": "marginals"},
        "glorot, marginals": {"init_scale": "glorot", "biases": "marginals"},
        "none kept, glorot": {"warm_start": 0.0, "init_scale": "glorot"},
        "none kept, 0.2": {"warm_start": 0.0, "init_scale": 0.2},
    },
    "warm": {
        "none kept": {"warm_start": 0.0},
        "0.25 kept": {"warm_start": 0.25},
        "0.75 kept": {"warm_start": 0.75},
        "0.9 kept": {"warm_start": 0.9},
        "all kept": {"warm_start": 1.0},
        "none kept, until it converges": {"warm_start": 0.0, **_CONVERGED},
        "all kept, 20 epochs": {"warm_start": 1.0, "min_epochs": 20, "max_epochs": 20},
    },
    "depth": {
        "n/2 units": {"hidden": "{half}"},
        "2n units": {"hidden": "{double}"},
        "n, n/2, not glorot": {"hidden": "{n},{half}"},
        "n, n/2": _DEEP,
        "n, n/2, 100 epochs": {**_DEEP, "min_epochs": 100, "max_epochs": 100},
        "n, n/2, until it converges": {**_DEEP, **_CONVERGED},
        "n, n/2, none kept, until it converges": {**_DEEP, "warm_start": 0.0, **_CONVERGED},
        "n, n": {**_DEEP, "hidden": "{n},{n}"},
        "2n, n": {**_DEEP, "hidden": "{double},{n}"},
        "n, n/2, n/4": {**_DEEP, "hidden": "{n},{half},{quarter}"},
    },
    "noise": {
        "corruption 0.02": {"corruption": 0.02},
        "corruption 0.025": {"corruption": 0.025},
        "corruption 0.05": {"corruption": 0.05},
        "corruption 0.1": {"corruption": 0.1},
        "corruption 0.2": {"corruption": 0.2},
    },
    "training": {
        "held-out rows stop it": {
            "validation": 0.1, "min_epochs": 25, **_CONVERGED,
        },
        "until it converges": _CONVERGED,
        "rate 0.2": {"learning_rate": 0.2},
        "rate 0.8": {"learning_rate": 0.8},
        "rate 24 / n": {"learning_rate": "{rate}"},
        "rate 32 / n": {"learning_rate": "{higher_rate}"},
        "no momentum": {"momentum": 0.0},
        "momentum 0.6": {"momentum": 0.6},
        "momentum 0.8": {"momentum": 0.8},
        "batches of 50": {"batch_size": 50},
    },
    "sampling": {
        "2 rounds": {"sampling_steps": 2},
        "5 rounds": {"sampling_steps": 5},
        "20 rounds": {"sampling_steps": 20},
        "bits in every round": {"binarise": True},
    },
    "cost": {
        "250 rows an epoch": {"max_rows": 250},
        "1,000 rows an epoch": {"max_rows": 1000},
        "20 epochs": {"min_epochs": 20, "max_epochs": 20},
        "30 epochs": {"min_epochs": 30, "max_epochs": 30},
        "100 epochs": {"min_epochs": 100, "max_epochs": 100},
        "20 epochs, rate 0.8": {"min_epochs": 20, "max_epochs": 20, "learning_rate": 0.8},
        "30 epochs, rate 0.8": {"min_epochs": 30, "max_epochs": 30, "learning_rate": 0.8},
        "20 epochs, rate 0.8, no momentum": {
            "min_epochs": 20, "max_epochs": 20, "learning_rate": 0.8, "momentum": 0.0,
        },
        "30 epochs, corruption 0.02": {
            "min_epochs": 30, "max_epochs": 30, "corruption": 0.02,
        },
        "30 epochs, rate 0.6, no momentum": {
            "min_epochs": 30, "max_epochs": 30, "learning_rate": 0.6, "momentum": 0.0,
        },
        "n/2 units, 5 rounds": {"hidden": "{half}", "sampling_steps": 5},
    },
}  # fmt: skip
"""Variants by question: what they change in BASE. {n}, {half}, {quarter} and {double} are of the problem's n."""


@dataclass(frozen=True)
class Case:
    """A problem, and the population that all variants get."""

    n: int
    popsize: int
    spec: str = ""  # of a problem with a name; others have a file
    optimum: float | None = None

    def problem(self, name: str) -> str:
        if self.spec:
            return self.spec
        kind, file = FILES[name]
        return f"{kind}:{DATA / file}"


CASES: dict[str, Case] = {
    "trap5_50": Case(50, 2000, "trap:k=5,n=50"),
    "hiff_64": Case(64, 1000, "hiff:n=64"),
    "hiff_128": Case(128, 2000, "hiff:n=128"),
    "nk_30_4.1": Case(30, 2000),
    "spin_100_0": Case(100, 2000),
    "s3v80c1000-1": Case(80, 2000, optimum=KNOWN["s3v80c1000-1"]),
    "trap5_25": Case(25, 1000, "trap:k=5,n=25"),
}
"""The problems that a table may be of; the last is for a first look."""


def settings_of(changes: Settings, n: int) -> Settings:
    """Give all settings of a variant, for n variables."""
    sizes: dict[str, object] = {"n": n, "half": n // 2, "quarter": n // 4, "double": 2 * n}
    sizes |= {"rate": f"{24 / n:g}", "higher_rate": f"{32 / n:g}"}
    own = {**BASE, **changes}
    return {name: value.format(**sizes) if isinstance(value, str) else value for name, value in own.items()}

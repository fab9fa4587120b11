"""What is varied in `ablation`: the settings of `dae` by the question that they are about, and the problems."""

from __future__ import annotations

from dataclasses import dataclass

from instance_files import DATA, FILES, KNOWN

Settings = dict[str, object]

BEFORE: Settings = {
    "hidden": None, "tied": True, "error": "cross-entropy", "corruption": 0.05, "learning_rate": 0.1,
    "bias_factor": 5.0, "momentum": 0.3, "weight_decay": 0.0, "init_scale": 0.005, "batch_size": 100, "validation": 0.0,
    "overfitting": None, "gamma": 0.05, "check_every": 5, "min_epochs": 50, "min_updates": 200, "max_epochs": 2000,
    "sampling_steps": 10, "noise": "salt+pepper", "block_size": 4, "optimizer": "sgd", "init": "normal",
    "biases": "normal", "warm_start": 0.0, "starts": 1, "pretrain": 0, "walkback": 0, "max_rows": None,
    "distinct": False, "sampling_start": "random", "temperature": 1.0, "binarise": False,
}  # fmt: skip
"""The settings of the author's later program with a corruption of 0.05: what every variant is compared with."""

BASELINE = "baseline"

QUESTIONS: dict[str, dict[str, Settings]] = {
    "init": {
        "smaller: 0.001": {"init_scale": 0.001},
        "larger: 0.05": {"init_scale": 0.05},
        "larger: 0.2": {"init_scale": 0.2},
        "glorot": {"init": "glorot"},
        "biases from marginals": {"biases": "marginals"},
        "glorot, marginals": {"init": "glorot", "biases": "marginals"},
        "best of 3 starts": {"starts": 3},
        "glorot, best of 3": {"init": "glorot", "starts": 3},
    },
    "warm": {
        "all kept": {"warm_start": 1.0},
        "all kept, at most 50 epochs": {"warm_start": 1.0, "min_epochs": 20, "min_updates": 0, "max_epochs": 50},
        "all kept, 20 epochs": {"warm_start": 1.0, "min_epochs": 20, "min_updates": 0, "max_epochs": 20},
        "all kept, 10 epochs": {"warm_start": 1.0, "min_epochs": 10, "min_updates": 0, "max_epochs": 10},
        "0.9 kept, at most 50 epochs": {"warm_start": 0.9, "min_epochs": 20, "min_updates": 0, "max_epochs": 50},
        "0.5 kept, at most 50 epochs": {"warm_start": 0.5, "min_epochs": 20, "min_updates": 0, "max_epochs": 50},
        "0.5 kept": {"warm_start": 0.5},
        "none kept, at most 50 epochs": {"min_epochs": 20, "min_updates": 0, "max_epochs": 50},
        "none kept, 20 epochs": {"min_epochs": 20, "min_updates": 0, "max_epochs": 20},
    },
    "depth": {
        "n/2 units": {"hidden": "{half}"},
        "2n units": {"hidden": "{double}"},
        "n, n/2": {"hidden": "{n},{half}"},
        "n, n/2, glorot": {"hidden": "{n},{half}", "init": "glorot"},
        "n, n, glorot": {"hidden": "{n},{n}", "init": "glorot"},
        "n, n/2, glorot, marginals": {"hidden": "{n},{half}", "init": "glorot", "biases": "marginals"},
        "n, n/2, glorot, pretrained": {"hidden": "{n},{half}", "init": "glorot", "pretrain": 20},
        "n, n/2, glorot, adam": {"hidden": "{n},{half}", "init": "glorot", "optimizer": "adam", "learning_rate": 0.005},
        "n, n/2, glorot, not tied": {"hidden": "{n},{half}", "init": "glorot", "tied": False},
        "n, n/2, n/4, glorot": {"hidden": "{n},{half},{quarter}", "init": "glorot"},
        "not tied": {"tied": False},
    },
    "noise": {
        "corruption 0.02": {"corruption": 0.02},
        "corruption 0.1": {"corruption": 0.1},
        "masking 0.05": {"noise": "masking"},
        "masking 0.1": {"noise": "masking", "corruption": 0.1},
        "masking 0.2": {"noise": "masking", "corruption": 0.2},
        "blocks 0.05": {"noise": "block"},
        "blocks 0.1": {"noise": "block", "corruption": 0.1},
        "walkback 1": {"walkback": 1},
        "walkback 3": {"walkback": 3},
        "walkback 1, 25 epochs": {"walkback": 1, "min_epochs": 25, "min_updates": 100},
    },
    "training": {
        "adam 0.002": {"optimizer": "adam", "learning_rate": 0.002},
        "adam 0.005": {"optimizer": "adam", "learning_rate": 0.005},
        "adam 0.01": {"optimizer": "adam", "learning_rate": 0.01, "bias_factor": 1.0},
        "adam 0.01, 20 epochs": {
            "optimizer": "adam", "learning_rate": 0.01, "bias_factor": 1.0, "min_epochs": 20, "min_updates": 0,
        },
        "held-out rows stop it": {"validation": 0.1, "overfitting": 0.1, "min_epochs": 25, "min_updates": 0},
        "held-out rows, watched": {"validation": 0.1},
        "25 epochs": {"min_epochs": 25, "min_updates": 100},
        "100 epochs": {"min_epochs": 100},
        "rate 0.2": {"learning_rate": 0.2},
        "rate 0.4": {"learning_rate": 0.4},
        "rate 0.4, 20 epochs": {"learning_rate": 0.4, "min_epochs": 20, "min_updates": 0},
        "momentum 0.8": {"momentum": 0.8},
        "batches of 50": {"batch_size": 50},
        "squared error": {"error": "squared"},
    },
    "sampling": {
        "2 rounds": {"sampling_steps": 2},
        "5 rounds": {"sampling_steps": 5},
        "20 rounds": {"sampling_steps": 20},
        "rounds by autocorrelation": {"sampling_steps": "auto"},
        "from parents": {"sampling_start": "parents"},
        "from parents, 2 rounds": {"sampling_start": "parents", "sampling_steps": 2},
        "from parents, by autocorrelation": {"sampling_start": "parents", "sampling_steps": "auto"},
        "temperature 0.8": {"temperature": 0.8},
        "temperature 1.2": {"temperature": 1.2},
        "bits in every round": {"binarise": True},
        "from parents, bits in every round": {"sampling_start": "parents", "binarise": True},
    },
    "cost": {
        "distinct rows": {"distinct": True},
        "500 rows an epoch": {"max_rows": 500},
        "n/2 units": {"hidden": "{half}"},
        "n/4 units": {"hidden": "{quarter}"},
        "gamma 0.2": {"gamma": 0.2},
        "at most 100 epochs": {"max_epochs": 100},
        "at most 100 epochs, rate 0.2": {"max_epochs": 100, "learning_rate": 0.2},
        "at most 100 epochs, rate 0.4": {"max_epochs": 100, "learning_rate": 0.4},
        "500 rows, at most 100 epochs, rate 0.4": {"max_rows": 500, "max_epochs": 100, "learning_rate": 0.4},
        "0.5 kept, at most 50 epochs, rate 0.2": {"warm_start": 0.5, "max_epochs": 50, "learning_rate": 0.2},
        "0.5 kept, 500 rows, 50 epochs, rate 0.4": {
            "warm_start": 0.5, "max_rows": 500, "max_epochs": 50, "learning_rate": 0.4,
        },
        "0.5 kept, 500 rows, 50 epochs, rate 0.4, 5 rounds": {
            "warm_start": 0.5, "max_rows": 500, "max_epochs": 50, "learning_rate": 0.4, "sampling_steps": 5,
        },
        "0.5 kept, 500 distinct rows, 50 epochs, rate 0.4": {
            "warm_start": 0.5, "max_rows": 500, "max_epochs": 50, "learning_rate": 0.4, "distinct": True,
        },
    },
}  # fmt: skip
"""Variants by question: what they change in BEFORE. {n}, {half}, {quarter} and {double} are of the problem's n."""


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
    """Give what a variant changes in BEFORE, for n variables."""
    sizes = {"n": n, "half": n // 2, "quarter": n // 4, "double": 2 * n}
    return {name: value.format(**sizes) if isinstance(value, str) else value for name, value in changes.items()}

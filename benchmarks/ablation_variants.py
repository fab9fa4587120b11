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
"""What `dae` was: the settings of the author's later program with a corruption of 0.05."""

BASE: Settings = {
    **BEFORE, "corruption": 0.03, "warm_start": 0.5, "max_rows": 500, "max_epochs": 50, "learning_rate": 0.4,
}  # fmt: skip
"""What variants change and are compared with: half of the last parameters kept, then 250 updates. `dae` is this with a
learning rate that goes by n, which was chosen last."""

BASELINE = "baseline"

_DEEP: Settings = {"hidden": "{n},{half}", "init": "glorot"}
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
        "glorot": {"init": "glorot"},
        "biases from marginals": {"biases": "marginals"},
        "glorot, marginals": {"init": "glorot", "biases": "marginals"},
        "best of 3 starts": {"starts": 3},
        "glorot, best of 3": {"init": "glorot", "starts": 3},
        "none kept, glorot": {"warm_start": 0.0, "init": "glorot"},
        "none kept, 0.2": {"warm_start": 0.0, "init_scale": 0.2},
    },
    "warm": {
        "none kept": {"warm_start": 0.0},
        "0.25 kept": {"warm_start": 0.25},
        "0.75 kept": {"warm_start": 0.75},
        "0.9 kept": {"warm_start": 0.9},
        "all kept": {"warm_start": 1.0},
        "none kept, until it converges": {"warm_start": 0.0, **_CONVERGED},
        "all kept, 20 epochs": {"warm_start": 1.0, "min_epochs": 20, "min_updates": 0, "max_epochs": 20},
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
        "n, n/2, pretrained": {**_DEEP, "pretrain": 20},
        "n, n/2, adam": {**_DEEP, "optimizer": "adam", "learning_rate": 0.005},
        "n, n/2, not tied": {**_DEEP, "tied": False},
        "n, n/2, n/4": {**_DEEP, "hidden": "{n},{half},{quarter}"},
        "not tied": {"tied": False},
    },
    "noise": {
        "corruption 0.02": {"corruption": 0.02},
        "corruption 0.025": {"corruption": 0.025},
        "corruption 0.05": {"corruption": 0.05},
        "corruption 0.1": {"corruption": 0.1},
        "corruption 0.2": {"corruption": 0.2},
        "masking 0.05": {"noise": "masking", "corruption": 0.05},
        "masking 0.1": {"noise": "masking", "corruption": 0.1},
        "masking 0.2": {"noise": "masking", "corruption": 0.2},
        "blocks 0.05": {"noise": "block", "corruption": 0.05},
        "blocks 0.1": {"noise": "block", "corruption": 0.1},
        "walkback 1": {"walkback": 1},
        "walkback 3": {"walkback": 3},
        "walkback 1, 25 epochs": {"walkback": 1, "min_epochs": 25, "min_updates": 0, "max_epochs": 25},
    },
    "training": {
        "adam 0.005": {"optimizer": "adam", "learning_rate": 0.005},
        "adam 0.01": {"optimizer": "adam", "learning_rate": 0.01, "bias_factor": 1.0},
        "adam 0.02": {"optimizer": "adam", "learning_rate": 0.02, "bias_factor": 1.0},
        "held-out rows stop it": {
            "validation": 0.1, "overfitting": 0.1, "min_epochs": 25, "min_updates": 0, **_CONVERGED,
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
        "temperature 0.9": {"temperature": 0.9},
        "temperature 1.2": {"temperature": 1.2},
        "bits in every round": {"binarise": True},
        "from parents, bits in every round": {"sampling_start": "parents", "binarise": True},
    },
    "cost": {
        "250 rows an epoch": {"max_rows": 250},
        "1,000 rows an epoch": {"max_rows": 1000},
        "distinct rows": {"distinct": True},
        "20 epochs": {"min_epochs": 20, "min_updates": 0, "max_epochs": 20},
        "30 epochs": {"min_epochs": 30, "min_updates": 0, "max_epochs": 30},
        "100 epochs": {"min_epochs": 100, "max_epochs": 100},
        "20 epochs, rate 0.8": {"min_epochs": 20, "min_updates": 0, "max_epochs": 20, "learning_rate": 0.8},
        "30 epochs, rate 0.8": {"min_epochs": 30, "min_updates": 0, "max_epochs": 30, "learning_rate": 0.8},
        "20 epochs, rate 0.8, no momentum": {
            "min_epochs": 20, "min_updates": 0, "max_epochs": 20, "learning_rate": 0.8, "momentum": 0.0,
        },
        "30 epochs, corruption 0.02": {
            "min_epochs": 30, "min_updates": 0, "max_epochs": 30, "corruption": 0.02,
        },
        "30 epochs, rate 0.6, no momentum": {
            "min_epochs": 30, "min_updates": 0, "max_epochs": 30, "learning_rate": 0.6, "momentum": 0.0,
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

"""Feature selection compared with scikit-learn's: the cross-validated score of the subsets, and that on held-out rows.

    python benchmarks/features.py --seeds 10 20 > docs/data/features.csv

Each seed splits the data anew: rows to choose with, in five folds that are the same for all methods, and rows that none
of them sees. At most ten features; SubsetSelector may fit as many models as forward selection does, and no more. Scores
are means over the seeds. The last columns count in how many splits SubsetSelector is at least as good over the folds,
better over the folds, and at least as good on held-out rows.
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.feature_selection import SelectKBest, SequentialFeatureSelector, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from daedal.sklearn import SubsetSelector

MOST, FOLDS = 10, 5
DATA = {"breast_cancer": (load_breast_cancer, 426), "digits": (load_digits, 300)}  # with how many rows to choose with
MODELS = {
    "LogisticRegression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "GaussianNB": GaussianNB(var_smoothing=1e-3),
}


@dataclass(frozen=True)
class Outcome:
    score: float  # over the folds
    held_out: float
    fits: int  # of models, while choosing


@dataclass(frozen=True)
class Task:
    """What one seed gives: rows to choose with, folds, rows held out."""

    data: str
    model: str
    seed: int

    def compare(self) -> dict[str, Outcome]:
        load, rows = DATA[self.data]
        x, y = load(return_X_y=True)
        split = train_test_split(x, y, train_size=rows, stratify=y, random_state=self.seed)
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=self.seed)
        model, n = MODELS[self.model], x.shape[1]
        forward = SequentialFeatureSelector(model, n_features_to_select=MOST, cv=folds)
        evaluations = sum(n - chosen for chosen in range(MOST))
        ours = SubsetSelector(model, max_features=MOST, cv=folds, max_evaluations=evaluations, random_state=self.seed)
        found = {
            "SubsetSelector": self.outcome(ours, split, folds, 0),
            "forward": self.outcome(forward, split, folds, FOLDS * evaluations),
            "SelectKBest": self.outcome(SelectKBest(f_classif, k=MOST), split, folds, 0),
        }
        assert FOLDS * ours.n_evaluations_ <= FOLDS * evaluations
        return found

    def outcome(self, selector: Any, split: list[Any], folds: StratifiedKFold, fits: int) -> Outcome:
        x, x_held, y, y_held = split
        with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
            warnings.simplefilter("ignore", UserWarning)  # the F-test has nothing to say of pixels that do not vary
            chosen = selector.fit(x, y).get_support()
        assert 1 <= chosen.sum() <= MOST
        model = MODELS[self.model]
        score = float(cross_val_score(model, x[:, chosen], y, cv=folds).mean())
        fits = FOLDS * getattr(selector, "n_evaluations_", fits // FOLDS)
        return Outcome(score, float(clone(model).fit(x[:, chosen], y).score(x_held[:, chosen], y_held)), fits)


def rows(outcomes: list[dict[str, Outcome]]) -> Iterator[list[object]]:
    """Yield a row for each selector."""
    for name in outcomes[0]:
        means = np.mean([[one[name].score, one[name].held_out, one[name].fits] for one in outcomes], axis=0)
        gains = np.array([one["SubsetSelector"].score - one[name].score for one in outcomes])
        held = np.array([one["SubsetSelector"].held_out - one[name].held_out for one in outcomes])
        counts = [np.sum(gains >= -1e-12), np.sum(gains > 1e-12), np.sum(held >= 0)]
        yield [name, f"{means[0]:.4f}", f"{means[1]:.4f}", f"{means[2]:.0f}", len(outcomes), *counts]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 10), metavar=("FROM", "TO"))
    parser.add_argument("--data", choices=DATA, nargs="+", default=list(DATA))
    parser.add_argument("--models", choices=MODELS, nargs="+", default=list(MODELS))
    args = parser.parse_args()
    table = csv.writer(sys.stdout, lineterminator="\n")
    head = ["data", "model", "selector", "folds", "held out", "fits", "splits", "at least as good", "better"]
    table.writerow([*head, "at least as good, held out"])
    for data in args.data:
        for model in args.models:
            outcomes = []
            for seed in range(*args.seeds):
                outcomes.append(Task(data, model, seed).compare())
                shown = {name: (round(one.score, 4), round(one.held_out, 4)) for name, one in outcomes[-1].items()}
                print(data, model, seed, shown, file=sys.stderr, flush=True)
            table.writerows([data, model, *row] for row in rows(outcomes))
            sys.stdout.flush()


if __name__ == "__main__":
    main()

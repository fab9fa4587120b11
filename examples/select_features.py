"""Select features for scikit-learn: daedal's selector and sequential selection with the same number of fits.

    python examples/select_features.py          # needs pip install "daedal[sklearn]"

Which five pixels distinguish handwritten digits? Both selectors use the score over the same folds of 300 pictures, so
compare that column. The second column is the score on the other pictures, which neither selector has seen.
"""

from __future__ import annotations

import numpy as np

from daedal.sklearn import SubsetSelector  # first, because it says what to install if scikit-learn is missing

# isort: split
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
from sklearn.tree import DecisionTreeClassifier

FEATURES = 5
X, Y = load_digits(return_X_y=True)
SEEN, UNSEEN, Y_SEEN, Y_UNSEEN = train_test_split(X, Y, train_size=300, stratify=Y, random_state=0)
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
MODEL = DecisionTreeClassifier(random_state=0)


def report(name: str, selector: SubsetSelector | SequentialFeatureSelector) -> float:
    """Choose pixels, print their scores on the folds and on held-out pictures, and return the latter."""
    chosen = selector.fit(SEEN, Y_SEEN).get_support()
    folds = cross_val_score(MODEL, SEEN[:, chosen], Y_SEEN, cv=FOLDS).mean()
    held_out = clone(MODEL).fit(SEEN[:, chosen], Y_SEEN).score(UNSEEN[:, chosen], Y_UNSEEN)
    pixels = ", ".join(f"({row}, {column})" for row, column in zip(*np.divmod(np.flatnonzero(chosen), 8), strict=True))
    print(f"{name:22} {folds:6.4f} {held_out:9.4f}  {pixels}")
    return held_out


if __name__ == "__main__":
    print(f"{'five of 64 pixels':22} {'folds':6} {'held out':>9}  row, column")
    report("sequential selection", SequentialFeatureSelector(MODEL, n_features_to_select=FEATURES, cv=FOLDS))
    share = report("daedal", SubsetSelector(MODEL, max_features=FEATURES, cv=FOLDS, random_state=0))
    error = (share * (1 - share) / len(UNSEEN)) ** 0.5
    print("The score over the folds is too good, because both selectors have tried many subsets on them.")
    print(f"On the {len(UNSEEN):,} held-out pictures, only differences of at least {2 * error:.2f} are significant.")

"""Features for scikit-learn: daedal's selector beside sequential selection, with the same number of fits.

    python examples/select_features.py          # needs pip install "daedal[sklearn]"

Which five pixels tell handwritten digits apart? Both choose on the same folds of 300 pictures, and are then judged on
the other pictures, which neither has seen.
"""

from __future__ import annotations

from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
from sklearn.tree import DecisionTreeClassifier

from daedal.sklearn import SubsetSelector

FEATURES = 5
X, Y = load_digits(return_X_y=True, as_frame=True)
SEEN, UNSEEN, Y_SEEN, Y_UNSEEN = train_test_split(X, Y, train_size=300, stratify=Y, random_state=0)
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
MODEL = DecisionTreeClassifier(random_state=0)


def report(name: str, selector: SubsetSelector | SequentialFeatureSelector) -> None:
    """Choose features, and print how good they are on the folds and on rows that were held out."""
    chosen = selector.fit(SEEN, Y_SEEN).get_support()
    folds = cross_val_score(MODEL, SEEN.loc[:, chosen], Y_SEEN, cv=FOLDS).mean()
    held_out = clone(MODEL).fit(SEEN.loc[:, chosen], Y_SEEN).score(UNSEEN.loc[:, chosen], Y_UNSEEN)
    print(f"{name:22} {folds:6.4f} {held_out:9.4f}  {', '.join(SEEN.columns[chosen])}")


if __name__ == "__main__":
    print(f"{'five of 64 pixels':22} {'folds':6} {'held out':>9}  features")
    report("sequential selection", SequentialFeatureSelector(MODEL, n_features_to_select=FEATURES, cv=FOLDS))
    report("daedal", SubsetSelector(MODEL, max_features=FEATURES, cv=FOLDS, random_state=0))

from daedal.sklearn.selector import SubsetSelector as SubsetSelector

"""What a run gives: the answer, how it was found, and what the search has learned on the way."""

from daedal.result.result import Result, Solution
from daedal.result.trace import Curve, Trace

__all__ = ["Curve", "Result", "Solution", "Trace"]

"""Problems: functions of n bits, to be maximised, that state their optimum where it is known."""

from daedal.problems.base import Problem
from daedal.problems.hiff import HIFF
from daedal.problems.nk import NK
from daedal.problems.nk_file import read_nk, write_nk
from daedal.problems.onemax import OneMax
from daedal.problems.shuffled import Shuffled, shuffled
from daedal.problems.trap import Trap

__all__ = ["HIFF", "NK", "OneMax", "Problem", "Shuffled", "Trap", "read_nk", "shuffled", "write_nk"]

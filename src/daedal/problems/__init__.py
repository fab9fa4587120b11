"""Problems: functions of n bits, to be maximised, that state their optimum where it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daedal.settings.lazy import lazy_names

if TYPE_CHECKING:
    from daedal.problems.base import Problem as Problem
    from daedal.problems.hiff import HIFF as HIFF
    from daedal.problems.nk import NK as NK
    from daedal.problems.nk_file import read_nk as read_nk
    from daedal.problems.nk_file import write_nk as write_nk
    from daedal.problems.onemax import OneMax as OneMax
    from daedal.problems.shuffling import Shuffled as Shuffled
    from daedal.problems.shuffling import shuffled as shuffled
    from daedal.problems.trap import Trap as Trap
else:
    _HOMES = {
        "Problem": "daedal.problems.base",
        "HIFF": "daedal.problems.hiff",
        "NK": "daedal.problems.nk",
        "read_nk": "daedal.problems.nk_file",
        "write_nk": "daedal.problems.nk_file",
        "OneMax": "daedal.problems.onemax",
        "Shuffled": "daedal.problems.shuffling",
        "shuffled": "daedal.problems.shuffling",
        "Trap": "daedal.problems.trap",
    }
    __all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)

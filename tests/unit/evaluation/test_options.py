"""Options of evaluations: which are refused, and which a run file keeps."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from daedal.evaluation.options import EvaluationOptions, OnError

FULL: dict[str, Any] = {
    "workers": 3,
    "on_error": "retry:2,worst",
    "timeout": 2.5,
    "deduplicate": False,
    "asynchronous": True,
}


def test_policies_are_read() -> None:
    assert OnError.read("raise") == OnError()
    assert OnError.read("worst") == OnError(worst=True)
    assert OnError.read("retry:3") == OnError.read("retry:3,raise") == OnError(retries=3)
    assert OnError.read("retry:12,worst") == OnError(retries=12, worst=True)


@pytest.mark.parametrize(
    "odd",
    [
        *(
            {"on_error": text}
            for text in ("", "ignore", "retry", "retry:", "retry:0", "retry:-1", "retry:2.5", None, 3)
        ),
        *({"on_error": text} for text in ("retry:3,", "retry:3,best")),
        *({"workers": workers} for workers in (0, -1, 10**9, 1.5, True, "two", None)),
        *({"timeout": timeout} for timeout in (0, -1.0, math.nan, True, "long")),
        {"executor": "dask"},
        {"executor_timeout": 0},
    ],
)
def test_what_makes_no_sense_is_refused_by_its_name(odd: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError), match=next(iter(odd))):
        EvaluationOptions(**odd)


def test_an_executor_has_workers_of_its_own() -> None:
    with ThreadPoolExecutor(1) as executor:
        assert "executor" not in EvaluationOptions(executor=executor).to_json()
        with pytest.raises(ValueError, match="cannot be combined"):
            EvaluationOptions(executor=executor, workers=2)


@pytest.mark.parametrize("given", [{}, FULL, {"workers": np.int64(2), "timeout": np.float64(3.0)}])
def test_a_run_file_keeps_what_makes_the_same_options(given: dict[str, Any]) -> None:
    kept = EvaluationOptions(**given).to_json()
    assert EvaluationOptions(**json.loads(json.dumps(kept))) == EvaluationOptions(**given)

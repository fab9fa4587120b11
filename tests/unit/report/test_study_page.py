"""The page of a study, whatever its runs have come to; tests/e2e/test_report.py has whole ones."""

from __future__ import annotations

import dataclasses

from curve_helpers import a_snapshot

from daedal.report.study_page import study_page


def test_a_study_without_any_run_has_a_page() -> None:
    empty = dataclasses.replace(a_snapshot(), runs={}, histories={})
    assert "No run has ended yet." in study_page(empty).body()

"""Readers of what the command line writes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any, TypeAlias

Done: TypeAlias = "subprocess.CompletedProcess[str]"
Cli: TypeAlias = Callable[..., Done]
Refused: TypeAlias = Callable[[Done, str], None]

CLOCKS = {"seconds", "cpu_seconds", "objective_seconds", "cpu_seconds_per_evaluation"}


def read_report(done: Done, code: int = 0) -> dict[str, Any]:
    """Read standard output, which holds one JSON object in one line and nothing else."""
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout.count("\n") == 1
    assert done.stdout.endswith("}\n")

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    report: dict[str, Any] = json.loads(done.stdout, parse_constant=refuse)
    return report


def timeless(report: Any) -> Any:
    """Leave out fields that depend on the clock."""
    if isinstance(report, dict):
        return {name: timeless(value) for name, value in report.items() if name not in CLOCKS}
    return [timeless(value) for value in report] if isinstance(report, list) else report

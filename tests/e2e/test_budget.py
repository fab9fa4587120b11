"""Few evaluations, as users have them: a warning if nothing can be learned, and populations that are doubled."""

from __future__ import annotations

from cli_helpers import Cli, read_report

import daedal


def test_the_command_line_warns_in_one_line(cli: Cli) -> None:
    words = ("solve", "onemax:n=30", "-a", "umda", "--seed", 1, "--max-evaluations", 100, "--json")
    report, warned = read_report(cli(*words)), cli(*words, "--popsize", 80)
    assert (report["evaluations"], report["popsize"] < 40) == (100, True)
    assert read_report(warned)["evaluations"] == 100
    lines = [line for line in warned.stderr.splitlines() if "warning" in line.lower()]
    assert len(lines) == 1
    assert lines[0].startswith("warning: 100 evaluations do not pay for three generations with popsize=80")
    assert "warning" not in cli(*words).stderr


# Populations that are doubled


def test_popsize_auto_from_the_command_line(here: Cli) -> None:
    """All of the budget is spent, the last size is reported, and what was asked for is in the settings."""
    words = ("-a", "umda", "--max-evaluations", 1_500, "--target", 99)
    report = read_report(here("solve", "onemax:n=30", "--popsize", "auto", *words, "--seed", 1, "--json", "--history"))
    result = daedal.maximize("onemax:n=30", popsize="auto", algorithm="umda", max_evaluations=1_500, target=99, seed=1)
    assert (report["evaluations"], report["stop"]) == (1_500, "evaluations")
    assert (report["popsize"], report["settings"]["popsize"]) == (result.popsize, "auto")
    assert {record["popsize"] for record in report["history"]} == {16, 32, 64, 128}
    assert report["x"] == "".join(map(str, result.x))
    compared = read_report(
        here("compare", "onemax:n=30", "-a", "pbil", "--popsize=auto", *words, "--runs", 1, "--json")
    )
    assert [run["evaluations"] for run in compared["cells"][0]["results"]] == [1_500]
    refused = here("solve", "onemax:n=30", "-a", "umda", "--popsize", "many")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "a whole number or auto or none, got popsize=many" in refused.stderr

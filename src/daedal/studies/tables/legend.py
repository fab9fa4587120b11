"""What the signs in a table mean."""

from __future__ import annotations

import math
from collections.abc import Sequence

from daedal.settings.checks import counted
from daedal.studies.analysis import Effort, Row
from daedal.studies.plan import LEVELS, Unsettled
from daedal.studies.published import PublishedTable
from daedal.studies.rank_tests import Test
from daedal.studies.statistics import LEVEL, can_be_significant
from daedal.studies.tables.content import NONE, OPEN, OTHER, UNKNOWN, Line, block_of, is_another

_TESTS: dict[Test, str] = {"signed-rank": "Wilcoxon signed-rank", "mann-whitney": "Mann-Whitney"}


def legend_of(rows: Sequence[Row], published: PublishedTable | None, test: Test, correct: bool) -> list[str]:
    """Explain what is shown, and the signs that are there."""
    lines = [line for row in rows for level in LEVELS for line in block_of(row, level, published).lines()]
    texts = [(line.label.text, line.evaluations.text, line.evaluations.sd) for line in lines]
    signs = {word for text in texts for word in " ".join(text).split()}
    entries = [(row, entry) for row in rows for entry in row.entries.values()]
    found = [entry.effort for _, entry in entries if entry.effort is not None]
    runs = max((effort.runs for effort in found), default=0)
    at = ", at the smallest population size that solves this share of them" if any(one.popsize for one in found) else ""
    sentences = {
        f"Mean ± standard deviation of {counted(runs, 'run')}, each up to its best solution{at}.": runs > 0,
        "No popsize: the algorithm has no population, or sizes of its own.": any(
            effort.popsize is None for effort in found
        ),
        **_star_sentences(rows, lines, test, correct),
        "CPU seconds from different kinds of processors are not compared.": any(map(_of_two_machines, found)),
        f"{NONE} the level is not reached with any of the sizes that were tried.": any(
            entry.choice is Unsettled.NONE and row.judged for row, entry in entries
        ),
        f"{OPEN} not all runs are made yet{_so_far(rows)}.": OPEN in signs,
        f"{UNKNOWN} no optimum or target is known, so nobody can tell what is solved; see --sizes.": UNKNOWN in signs,
        "failed: these runs ended with an error; they count as not solved and are left out of the means.": any(
            row.failed for row in rows
        ),
        "again: the same size with fresh seeds, solved/runs.": any(entry.confirmed for _, entry in entries),
        "paper: as published, measured with Octave on another machine in 2015.": published is not None,
        f"{OTHER} not the paper's own landscape but another one with the same n and k; the paper's numbers are for "
        "its own.": any(is_another(row.problem, published) for row in rows),
    }
    return [sentence for sentence, holds in sentences.items() if holds]


def _so_far(rows: Sequence[Row]) -> str:
    """Explain the first entry that says how many runs have solved a problem so far, if there is any."""
    for row in rows:
        for level in LEVELS:
            made, text = row.under_way, block_of(row, level, None).ours[0].evaluations.text
            if made is not None and row.entries[level].choice is Unsettled.OPEN and "/" in text:
                size = "" if made.popsize is None else f" with popsize {made.popsize:,}"
                has = "has" if made.solved == 1 else "have"
                return f"; {text}: of {counted(made.runs, 'run')}{size}, {made.solved:,} {has} solved it"
    return ""


def test_words(test: Test, correct: bool) -> str:
    """Say how stars were found."""
    holm = ", corrected by Holm's method" if correct else ""
    return f"pairwise {_TESTS[test]} tests, p < {LEVEL}{holm}"


def _of_two_machines(effort: Effort) -> bool:
    """Whether evaluations were compared with those of rivals, and seconds were not."""
    evaluations, seconds = effort.evaluations, effort.seconds
    return evaluations is not None and seconds is not None and evaluations.p is not None and seconds.p is None


def _star_sentences(rows: Sequence[Row], lines: Sequence[Line], test: Test, correct: bool) -> dict[str, bool]:
    """Explain the star, or why there can be none."""
    rivals: dict[tuple[str, int], list[int]] = {}  # by problem and level, the number of runs that count for each
    for row in rows:
        for level, entry in row.entries.items():
            if entry.effort is not None:
                well = entry.effort.runs - entry.effort.failed
                rivals.setdefault((row.problem.name, level), []).append(well)
    possible = not rivals or any(
        can_be_significant(min(counts), test=test, pairs=math.comb(len(counts), 2) if correct else 1)
        for counts in rivals.values()
    )
    runs = max((count for counts in rivals.values() for count in counts), default=0)
    how = test_words(test, correct)
    return {
        f"* significantly smaller than for every other algorithm that reaches the level ({how}).": any(
            line.evaluations.star or line.seconds.star for line in lines
        ),
        f"With {counted(runs, 'run')} no difference can be significant ({how}).": runs > 0 and not possible,
    }

"""Tables of what `peers` has measured, and in how many cells one algorithm is ahead of others."""

from __future__ import annotations

import argparse
import csv
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from instances import make
from peer_cells import ANYTIME, COMMON, FAMILIES, LARGE, NOISY, OPTIMUM, PUBLISHED
from peer_runs import MARKS, Record, Store, instance_number
from rivals import FIXED, is_installed

Values = dict[int, float]  # by seed
Table = list[list[str]]  # the head first


def all_tables(store: Store, words: argparse.Namespace) -> Iterator[tuple[str, Table]]:
    """Yield the selected tables, each with its name."""
    if words.optimum:
        names = [name for name in OPTIMUM if words.only in name]
        yield "to-the-optimum", calls_table(store, words, names)
        yield from ((f"to-the-optimum-{name}", details_table(store, words, name, names)) for name in words.focus)
    if words.anytime:
        yield "small-budgets", anytime_table(store, words)
        yield from ((f"small-budgets-{name}", criteria(store, words, name)) for name in words.focus)
    if words.families:
        yield "other-families", calls_table(store, words, [name for name in FAMILIES if words.only in name])
        yield "noise-at-3000", noise_table(store, words)
    if words.cpu:
        yield "cpu", cpu_table(store, words)


def write_into(folder: Path, tables: Sequence[tuple[str, Table]]) -> None:
    """Write each table into a CSV file with its name."""
    for name, rows in tables:
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)


def markdown(rows: Table) -> str:
    """Return a table in Markdown."""
    return "\n".join("| " + " | ".join(line) + " |" for line in [rows[0], ["---"] * len(rows[0]), *rows[1:]])


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table without the columns that nothing has filled."""
    kept = [place for place in range(len(head)) if not rows or any(row[place] != "-" for row in rows)]
    return [[line[place] for place in kept] for line in [head, *rows]]


def nothing(algorithm: str) -> str:
    """Give what a cell without runs says."""
    return "-" if is_installed(algorithm) else "not installed"


def mean_of(values: Sequence[float]) -> float:
    return statistics.fmean(values) if values else float("nan")


def calls_of(records: Sequence[Record], otherwise: str = "-") -> str:
    """Give the mean calls of the runs that were solved, and how many, where it is not all."""
    solved = [record.calls for record in records if record.solved]
    if not records:
        return otherwise
    share = f" ({len(solved)}/{len(records)})" if len(solved) < len(records) else ""
    return f"{mean_of(solved):,.0f}{share}" if solved else f"0/{len(records)}"


def published(name: str) -> list[str]:
    return [f"{value:,}" if value else "-" for value in PUBLISHED.get(name, (None,) * 4)]


def calls_table(store: Store, words: argparse.Namespace, names: Sequence[str]) -> Table:
    """Make a row for each function: mean calls to the optimum, over solved runs, and how many were solved."""
    rows = [
        [
            name,
            *(calls_of(store.of(other, name, words.limit, words.seeds), nothing(other)) for other in words.algorithms),
            *published(name),
        ]
        for name in names
    ]
    literature = ["P3, published", "gomea, published", "LTGA, published", "hBOA, published"]
    return table(["function", *words.algorithms, *literature], rows)


def details_table(store: Store, words: argparse.Namespace, algorithm: str, names: Sequence[str]) -> Table:
    """Make a row for each function of what one algorithm needs."""
    rows = []
    for name in names:
        records = store.of(algorithm, name, words.limit, words.seeds)
        if not records:
            continue
        solved = [record for record in records if record.solved]
        if not solved:
            rows.append([name, f"0/{len(records)}", *["-"] * 4])
            continue
        calls = [record.calls for record in solved]
        sd = statistics.stdev(calls) if len(calls) > 1 else 0.0
        batches = mean_of([record.batches for record in solved])
        cpu = statistics.median(record.cpu_per_call for record in records)
        rows.append(
            [
                name,
                f"{len(solved)}/{len(records)}",
                f"{mean_of(calls):,.0f} ± {sd:,.0f}",
                f"{batches:,.0f}",
                f"{mean_of(calls) / batches:.1f}",
                f"{cpu:.0f}",
            ]
        )
    head = [algorithm, "solved", "evaluations", "batches", "candidates per batch", "CPU us per evaluation"]
    return table(head, rows)


def values_at(store: Store, algorithm: str, function: str, mark: int, seeds: Sequence[int]) -> Values:
    """Give the best value after so many calls, by seed: of runs with that budget, or of the longest of a fixed one."""
    for budget in [other for other in reversed(MARKS) if other >= mark] if algorithm in FIXED else [mark]:
        records = store.of(algorithm, function, budget, seeds)
        if records:
            return {record.seed: record.marks[str(mark)] for record in records}
    return {}


def pooled_sd(values: Values) -> float:
    """Give the standard deviation of runs on the same instance, over all instances."""
    groups: dict[int, list[float]] = {}
    for seed, value in values.items():
        groups.setdefault(instance_number(seed), []).append(value)
    squares = sum(statistics.variance(group) * (len(group) - 1) for group in groups.values() if len(group) > 1)
    freedom = sum(len(group) - 1 for group in groups.values())
    return (squares / freedom) ** 0.5 if freedom else 0.0


def digits_for(value: float) -> int:
    return 4 if abs(value) < 2 else 3 if abs(value) < 20 else 2 if abs(value) < 200 else 0


def anytime_table(store: Store, words: argparse.Namespace) -> Table:
    """Make a row for each function and budget: mean best value, and the standard deviation on one instance."""
    rows = []
    for function in ANYTIME:
        cells = [[values_at(store, name, function, mark, words.seeds) for name in words.algorithms] for mark in MARKS]
        digits = digits_for(max((value for row in cells for cell in row for value in cell.values()), default=0.0))
        for mark, row in zip(MARKS, cells, strict=True):
            texts = [spread(cell, digits) or nothing(name) for name, cell in zip(words.algorithms, row, strict=True)]
            rows.append([function, f"{mark:,}", *texts])
    return table(["function", "evaluations", *words.algorithms], rows)


def spread(values: Values, digits: int) -> str:
    """Give mean and standard deviation; the mean alone where no instance has two runs."""
    repeated = len({instance_number(seed) for seed in values}) < len(values)
    deviation = f" ± {pooled_sd(values):.{digits}f}" if repeated else ""
    return f"{mean_of(list(values.values())):.{digits}f}{deviation}" if values else ""


def means_of_both(one: Values, other: Values) -> tuple[float, float]:
    """Compare on the seeds that both have."""
    seeds = [seed for seed in one if seed in other]
    return mean_of([one[seed] for seed in seeds]), mean_of([other[seed] for seed in seeds])


def criteria(store: Store, words: argparse.Namespace, algorithm: str) -> Table:
    """Count the cells in which an algorithm is ahead of, or behind, climber and EA, and the packages."""
    level, ahead, tied, cells = 0, 0, 0, 0
    below: list[str] = []
    behind: list[str] = []
    packages = {name: [0, 0] for name in COMMON}
    for function in ANYTIME:
        for mark in MARKS:
            own = values_at(store, algorithm, function, mark, words.seeds)
            both = [values_at(store, name, function, mark, words.seeds) for name in ("climber", "ea")]
            if not own or not all(both):
                continue
            cells += 1
            worse, better = sorted(both, key=lambda values: mean_of(list(values.values())))
            mine, best = means_of_both(own, better)
            level += mine >= best - pooled_sd(better) / 2
            ahead += mine > best
            tied += mine == best
            if mine < best - pooled_sd(better) / 2:
                behind.append(f"{function} {mark}")
            mine, worst = means_of_both(own, worse)
            if mine < worst - pooled_sd(worse) / 2:
                below.append(f"{function} {mark}")
            for name, counts in packages.items():
                other = values_at(store, name, function, mark, words.seeds)
                if other:
                    mine, theirs = means_of_both(own, other)
                    counts[0] += mine > theirs
                    counts[1] += 1
    rows = [
        ["clearly below (half a sd) the worse of climber and EA", f"{len(below)}/{cells}", ", ".join(below)],
        ["not below the better of them by more than half a sd", f"{level}/{cells}", ", ".join(behind)],
        ["ahead of the better of them", f"{ahead}/{cells}, {tied} tied", ""],
        *([f"ahead of {name}", f"{won}/{of}", ""] for name, (won, of) in packages.items()),
    ]
    return table([algorithm, "cells", "which"], rows)


def noise_table(store: Store, words: argparse.Namespace) -> Table:
    """Make a row for each noisy function: true value of the row reported after 3,000 calls."""
    rows = []
    for function in NOISY:
        cells = []
        for name in words.algorithms:
            true = {record.seed: record.true for record in store.of(name, function, MARKS[-1], words.seeds)}
            cells.append(spread(true, 2) or nothing(name))
        rows.append([function, *cells])
    return table(["true value at 3,000 evaluations", *words.algorithms], rows)


def cpu_table(store: Store, words: argparse.Namespace) -> Table:
    """Make a row for each function: microseconds a call (median of the runs), and seconds and memory at large n."""
    rows = []
    for function in OPTIMUM:
        cells = []
        for name in words.algorithms:
            records = store.of(name, function, words.limit, words.seeds)
            cells.append(f"{statistics.median(r.cpu_per_call for r in records):.1f}" if records else "-")
        rows.append([function, str(make(function).n), *cells])
    for function in LARGE:
        found = [store.of(name, function, words.limit, words.seeds[:1]) for name in words.algorithms]
        texts = [f"{r[0].cpu:.1f} s, {r[0].memory:.0f} MB, {calls_of(r)} evaluations" if r else "-" for r in found]
        rows.append([function, str(make(function).n), *texts])
    return table(["function", "n", *words.algorithms], rows)

"""Signals at any moment: a run ends with the right exit code, leaves no process, and resumes to the same result."""

from __future__ import annotations

import signal

import runs
from cases import Case, Part, Tried
from commands import not_json
from processes import Ended, clear_away, command_line, launch

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGKILL: -9}
LONG = 120.0
BATCH = 30  # rows of the first one, at most


def attempt(case: Case) -> Tried:
    """Send a signal to a run, a study or a comparison after some calls of its objective."""
    rng = case.rng
    number = rng.choice(list(CODES))
    what = rng.choices(("run", "study", "compare"), (8, 2, 1))[0]
    runs.furnish(case.folder)
    if what == "study":
        return _study(case, number)
    if what == "compare":
        return _compare(case, number)
    mode, algorithm = rng.choice(list(runs.MODES)), rng.choice(list(runs.ALGORITHMS))
    words = runs.solving(mode, algorithm)
    expected = runs.undisturbed(mode, algorithm)
    problems: list[str] = []
    shown = []
    for turn in range(rng.choice((1, 1, 2))):  # the resumed run is interrupted, too
        calls = rng.randint(1, max(1, int(expected["evaluations"] * 0.7)))
        shown.append(f"{signal.Signals(number).name} after {calls} calls")
        line = _going_on(case, mode, words)
        problems += _signalled(case, line, number, calls, name=f"-{turn}", to_group=rng.random() < 0.5)
    ended = launch(command_line(_going_on(case, mode, words)), case.folder, name="-last").wait(LONG)
    problems += ended.complaints(codes=(0,))
    if ended.code == 0:
        problems += runs.differences(runs.told(ended), expected)
    return Tried(f"{' and '.join(shown)}: daedal {' '.join(words)}", problems)


def _going_on(case: Case, mode: str, words: list[str]) -> list[str]:
    """Return words that continue a run: the same ones, or those of `resume` if the file holds a run."""
    return runs.resuming(mode) if runs.has_begun(case.folder / "run.db") and case.rng.random() < 0.5 else words


def _signalled(
    case: Case, line: list[str], number: signal.Signals, calls: int, *, name: str, to_group: bool
) -> list[str]:
    """Run a command line, send a signal, and return what is wrong with its end."""
    seen = case.folder / "calls"
    before = seen.stat().st_size if seen.exists() else 0
    process = launch(command_line(line, real=case.rng.random() < 0.1), case.folder, name=name)
    runs.wait_for_calls(process, case.folder, before + calls)
    process.send(number, to_group=to_group)
    ended = process.wait(LONG)
    problems = [] if number == signal.SIGKILL else ended.complaints(codes=(0, CODES[number]))
    if ended.long:
        problems.append(f"took longer than {LONG:g} s to end")
    if number != signal.SIGKILL and line[0] in ("solve", "resume"):
        problems += _unsaid(case, line, ended, at_once=calls <= BATCH)
    left = clear_away()
    if left:
        problems.append(f"left behind: {'; '.join(left)}")
    return problems


def _unsaid(case: Case, line: list[str], ended: Ended, *, at_once: bool) -> list[str]:
    """Return what a run that was told to end has not written: the best so far and its file, once there is a value."""
    kept = runs.has_begun(case.folder / "run.db")
    elsewhere = any(word.startswith("cmd:") or word == "--workers" for word in line)
    if at_once and elsewhere and not ended.out:
        return []  # calls are counted where they are made, and the first values were still on their way
    return not_json(ended.out) + ([] if kept else ["no run is in the file"])


def _study(case: Case, number: signal.Signals) -> Tried:
    calls = case.rng.randint(1, 200)
    expected = runs.undisturbed_study()
    problems = _signalled(case, runs.STUDYING, number, calls, name="-0", to_group=case.rng.random() < 0.5)
    ended = launch(command_line(runs.STUDYING), case.folder, name="-last").wait(LONG)
    problems += ended.complaints(codes=(0,))
    if ended.code == 0 and runs.comparable(case.folder / "study.db") != expected:
        problems.append("the study has other rows than one that was never disturbed")
    return Tried(f"{number.name} after {calls} calls: daedal {' '.join(runs.STUDYING)}", problems)


def _compare(case: Case, number: signal.Signals) -> Tried:
    calls, workers = case.rng.randint(1, 100), case.rng.choice("12")
    words = ["compare", "counted.py:f", "--by-row", "--n", "12", "-a", "umda", "-a", "pbil", "--popsize", "30"]
    words += ["--runs", "2", "--max-generations", "4", "--workers", workers, "--json"]
    problems = _signalled(case, words, number, calls, name="-0", to_group=case.rng.random() < 0.5)
    return Tried(f"{number.name} after {calls} calls: daedal {' '.join(words)}", problems)


PART = Part(300, 6, attempt)

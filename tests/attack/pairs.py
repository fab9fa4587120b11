"""Two of everything at once: runs with one file, one store, one output."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import runs
import zoo
from cases import Case, Part, Tried
from processes import Ended, command_line, launch
from study_helpers import stored

LONG = 180.0


def together(case: Case, *works: Callable[[], Any]) -> list[Ended]:
    """Do things at the same time; some get a head start."""
    processes = []
    for number, work in enumerate(works):
        processes.append(launch(work, case.folder, name=f"-{number}"))
        if case.rng.random() < 0.5:
            runs.wait_for_calls(processes[0], case.folder, case.rng.randint(1, 60), seconds=1.0)
    return [process.wait(LONG) for process in processes]


def lines(*all_words: list[str]) -> list[Callable[[], None]]:
    return [command_line(words) for words in all_words]


def bad(all_ended: list[Ended], codes: tuple[int, ...] = (0, 2)) -> list[str]:
    return [one for ended in all_ended for one in ended.complaints(codes)]


def one_run(case: Case) -> list[str]:
    words = runs.solving("serial", "umda")
    ended = together(case, *lines(words, words))
    return bad(ended) + _as_undisturbed(case, [*ended, _last(case, runs.resuming("serial"))])


def _last(case: Case, words: list[str]) -> Ended:
    return launch(command_line(words), case.folder, name="-last").wait(LONG)


def _as_undisturbed(case: Case, all_ended: list[Ended]) -> list[str]:
    """Say in what those that ended well differ from an undisturbed run; the last one has to."""
    expected = runs.undisturbed("serial", "umda")
    reports = [runs.told(each) for each in all_ended if each.code == 0]
    return all_ended[-1].complaints((0,)) + [one for report in reports for one in runs.differences(report, expected)]


def known_from_one_that_runs(case: Case) -> list[str]:
    writes, reads = runs.solving("serial", "umda"), [*runs.solving("serial", "umda", run="it.db"), "--known", "run.db"]
    ended = together(case, *lines(writes, reads, ["report", "run.db", "-o", "page.html"]))
    names = ("x", "fitness", "evaluations", "generations")  # known values are free
    expected = runs.undisturbed("serial", "umda")
    odd = [one for one in names if ended[1].code == 0 and runs.told(ended[1])[one] != expected[one]]
    return bad(ended[:1], (0,)) + bad(ended[1:]) + [f"ended with another result: {one}" for one in odd]


def one_study(case: Case) -> list[str]:
    ended = together(case, *lines(runs.STUDYING, runs.STUDYING))
    return bad(ended) + _complete(case)


def _complete(case: Case) -> list[str]:
    last = _last(case, runs.STUDYING)
    mine = runs.comparable(case.folder / "study.db")
    missing = [row for row in runs.undisturbed_study() if row not in mine]
    return last.complaints((0,)) + ([f"{len(missing)} runs are missing or others"] if missing else [])


def merging_while_running(case: Case) -> list[str]:
    (case.folder / "other.db").write_bytes(zoo.contents()["store.db"])
    ended = together(
        case,
        *lines(
            runs.STUDYING,
            ["study", "merge", "other.db", "--store", "study.db"],
            ["study", "status", "--store", "study.db"],
        ),
    )
    return bad(ended) + _complete(case)


def merging_from_one_that_runs(case: Case) -> list[str]:
    ended = together(
        case,
        *lines(
            runs.STUDYING,
            ["study", "merge", "study.db", "--store", "all.db"],
            ["study", "export", "--store", "study.db"],
        ),
    )
    return bad(ended) + _complete(case)


def merging_twice(case: Case) -> list[str]:
    (case.folder / "other.db").write_bytes(zoo.contents()["store.db"])
    words = ["study", "merge", "other.db", "--store", "all.db"]
    ended = together(case, *lines(words, words, words))
    whole = len(stored(case.folder / "other.db"))
    found = len(stored(case.folder / "all.db"))
    return bad(ended) + (
        [] if found == whole or not any(each.code == 0 for each in ended) else [f"{found} runs, not {whole}"]
    )


def resuming_twice(case: Case) -> list[str]:
    process = launch(command_line(runs.solving("serial", "umda")), case.folder, name="-half")
    runs.wait_for_calls(process, case.folder, case.rng.randint(31, 60))
    process.send(2)
    process.wait(LONG)
    words = runs.resuming("serial")
    ended = together(case, *lines(words, words))
    return bad(ended) + _as_undisturbed(case, [*ended, _last(case, words)])


def one_output(case: Case) -> list[str]:
    words = ["instance", "nk", "--n", "30", "--k", "4", "-o", "land.nk"]
    ended = together(case, *lines(words, words, words))
    read = _last(case, ["optimum", "nk:land.nk"])
    return bad(ended) + read.complaints((0,)) + [f"left a draft: {path.name}" for path in case.folder.glob(".*")]


def one_new_file(case: Case) -> list[str]:
    ended = together(case, *lines(*[["study", "init", "new.toml"]] * 3))
    made = sum(each.code == 0 for each in ended)
    return bad(ended) + ([] if made == 1 else [f"{made} of three made one file"])


def compiling(case: Case) -> list[str]:
    """Have two processes compile the same kernels into one empty folder."""
    cache = case.folder / "numba"

    def work() -> None:
        code = "import daedal; print(daedal.maximize('trap:k=4,n=12', algorithm='umda', popsize=50, seed=1).fitness)"
        environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
        os.execve(sys.executable, [sys.executable, "-c", code], environment)

    ended = together(case, work, work)
    values = {each.out for each in ended}
    return bad(ended, (0,)) + ([] if len(values) == 1 else [f"two results: {values}"])


KINDS = (
    one_run, known_from_one_that_runs, one_study, merging_while_running, merging_from_one_that_runs, merging_twice,
    resuming_twice, one_output, one_new_file,
)  # fmt: skip


def attempt(case: Case) -> Tried:
    """Do two things at once, one kind after the other; the slow one now and then."""
    kind = compiling if case.index % 20 == 10 else KINDS[case.index % len(KINDS)]
    runs.furnish(case.folder)
    problems = kind(case)
    return Tried(kind.__name__.replace("_", " "), problems)


PART = Part("pairs", 60, 4, attempt, "two runs, resumes, studies, merges, outputs, compilations at the same time")

"""Two commands at the same time, with one run file, one store, or one output."""

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
SOLVING, RESUMING = runs.solving("serial", "umda"), runs.resuming("serial")
MERGING = ["study", "merge", "other.db", "--store", "all.db"]
INSTANCE = ["instance", "nk", "--n", "30", "--k", "4", "-o", "land.nk"]


def together(case: Case, *works: Callable[[], Any] | list[str]) -> list[Ended]:
    """Run functions or commands at the same time; some get a head start."""
    processes = []
    for number, work in enumerate(works):
        action = command_line(work) if isinstance(work, list) else work
        processes.append(launch(action, case.folder, name=f"-{number}"))
        if case.rng.random() < 0.5:
            runs.wait_for_calls(processes[0], case.folder, case.rng.randint(1, 60), seconds=1.0)
    return [process.wait(LONG) for process in processes]


def bad(all_ended: list[Ended], codes: tuple[int, ...] = (0, 2)) -> list[str]:
    return [one for ended in all_ended for one in ended.complaints(codes)]


def last(case: Case, words: list[str]) -> Ended:
    return launch(command_line(words), case.folder, name="-last").wait(LONG)


def as_undisturbed(case: Case, all_ended: list[Ended]) -> list[str]:
    """Compare the runs that ended well with an undisturbed one; another command then continues the run."""
    expected, final = runs.undisturbed("serial", "umda"), last(case, RESUMING)
    reports = [runs.told(each) for each in (*all_ended, final) if each.code == 0]
    return bad([final], (0,)) + [one for report in reports for one in runs.differences(report, expected)]


def complete_study(case: Case) -> list[str]:
    final = last(case, runs.STUDYING)
    mine = runs.comparable(case.folder / "study.db")
    missing = [row for row in runs.undisturbed_study() if row not in mine]
    return bad([final], (0,)) + ([f"{len(missing)} runs are missing or different"] if missing else [])


def one_run(case: Case) -> list[str]:
    ended = together(case, SOLVING, SOLVING)
    return bad(ended) + as_undisturbed(case, ended)


def resuming_twice(case: Case) -> list[str]:
    process = launch(command_line(SOLVING), case.folder, name="-half")
    runs.wait_for_calls(process, case.folder, case.rng.randint(31, 60))
    process.send(2)
    process.wait(LONG)
    ended = together(case, RESUMING, RESUMING)
    return bad(ended) + as_undisturbed(case, ended)


def known_from_one_that_runs(case: Case) -> list[str]:
    reads = [*runs.solving("serial", "umda", run="it.db"), "--known", "run.db"]
    ended = together(case, SOLVING, reads, ["report", "run.db", "-o", "page.html"])
    expected, names = runs.undisturbed("serial", "umda"), ("x", "fitness", "generations")  # evaluations are free
    odd = [one for one in names if ended[1].code == 0 and runs.told(ended[1])[one] != expected[one]]
    return bad(ended[:1], (0,)) + bad(ended[1:]) + [f"ended with another result: {one}" for one in odd]


def one_study(case: Case) -> list[str]:
    return bad(together(case, runs.STUDYING, runs.STUDYING)) + complete_study(case)


def merging_into_one_that_runs(case: Case) -> list[str]:
    merge = ["study", "merge", "other.db", "--store", "study.db"]
    ended = together(case, runs.STUDYING, merge, ["study", "status", "--store", "study.db"])
    return bad(ended) + complete_study(case)


def merging_from_one_that_runs(case: Case) -> list[str]:
    merge = ["study", "merge", "study.db", "--store", "all.db"]
    ended = together(case, runs.STUDYING, merge, ["study", "export", "--store", "study.db"])
    return bad(ended) + complete_study(case)


def merging_twice(case: Case) -> list[str]:
    ended = together(case, MERGING, MERGING, MERGING)
    whole, found = (len(stored(case.folder / name)) for name in ("other.db", "all.db"))
    merged = any(each.code == 0 for each in ended)
    return bad(ended) + ([f"{found} runs, not {whole}"] if merged and found != whole else [])


def one_output(case: Case) -> list[str]:
    ended = together(case, INSTANCE, INSTANCE, INSTANCE)
    read = last(case, ["optimum", "nk:land.nk"])
    return bad(ended) + bad([read], (0,)) + [f"left a draft: {path.name}" for path in case.folder.glob(".*")]


def one_new_file(case: Case) -> list[str]:
    ended = together(case, *[["study", "init", "new.toml"]] * 3)
    made = sum(each.code == 0 for each in ended)
    return bad(ended) + ([] if made == 1 else [f"{made} of three made one file"])


def compiling(case: Case) -> list[str]:
    """Compile the same kernels into one empty folder."""

    def work() -> None:
        code = "import daedal; print(daedal.maximize('trap:k=4,n=12', algorithm='hboa', popsize=50, seed=1).fitness)"
        environment = os.environ | {"NUMBA_CACHE_DIR": str(case.folder / "numba")}
        os.execve(sys.executable, [sys.executable, "-c", code], environment)

    ended = together(case, work, work)
    values = {each.out for each in ended}
    return bad(ended, (0,)) + ([] if len(values) == 1 else [f"two results: {values}"])


KINDS = (
    one_run, known_from_one_that_runs, one_study, merging_into_one_that_runs, merging_from_one_that_runs, merging_twice,
    resuming_twice, one_output, one_new_file,
)  # fmt: skip


def attempt(case: Case) -> Tried:
    """Do two things at once: each kind in turn, and now and then the slow one."""
    kind = compiling if case.index % 20 == 10 else KINDS[case.index % len(KINDS)]
    runs.furnish(case.folder)
    (case.folder / "other.db").write_bytes(zoo.contents()["store.db"])
    return Tried(kind.__name__.replace("_", " "), kind(case))


PART = Part(60, 4, attempt)

"""Files of every format that daedal reads, damaged and crafted.

They are read, or refused with one clear error. No code in them is run, no time or memory is lost, and a command that
refuses a file leaves it as it is.
"""

from __future__ import annotations

import functools
import os
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import damage
import problem_files
import zoo
from cases import Case, Part, Tried
from processes import command_line, launch

FORBIDDEN = (
    "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "subprocess.Popen", "pickle.find_class",
    "socket.connect", "sqlite3.enable_load_extension", "sqlite3.load_extension", "os.kill", "ctypes.dlopen",
    "marshal.loads",
)  # fmt: skip
"""What reading a file never needs, by the names of Python's audit events."""

PROCESSES = ("subprocess.Popen", "pickle.find_class", "os.kill", "marshal.loads", "os.fork")
"""What starting worker processes needs."""

PROBLEMS = {name: problem_files.FILES[name][0] for name in (
    "tiny.cnf", "tiny.wcnf", "tiny.ising", "tiny.graph", "three.mkp", "two.qubo"
)}  # fmt: skip
"""Problem files of every other format, by name: the kind of problem."""

REFUSALS = (ValueError, OSError)
LONGEST = 10.0  # seconds: they are small files
WEIGHTS = {
    "run.db": 40, "own.db": 20, "store.db": 18, "budgets.db": 8, "land.nk": 8, "study.toml": 8, "rows.txt": 3,
    "valued.txt": 3, "known.csv": 3, "mine.py": 1, **dict.fromkeys(PROBLEMS, 1),
}  # fmt: skip
_SOLVE = ["solve", "onemax:n=8", "--max-evaluations", "50", "-a", "umda"]
_READ_STORE = [["study", command, "--store", "it"] for command in ("status", "table", "export")]
COMMANDS = {
    "run.db": [["resume", "it"], ["report", "it", "-o", "page.html"], [*_SOLVE, "--known", "it"]],
    "own.db": [["resume", "it", "mine.py:f"], ["report", "it", "-o", "page.html"], [*_SOLVE, "--run", "it"]],
    "store.db": [
        *_READ_STORE,
        ["study", "merge", "it", "--store", "budgets.db"],
        ["study", "merge", "budgets.db", "--store", "it"],
    ],
    "budgets.db": [*_READ_STORE, ["study", "merge", "it", "--store", "store.db"]],
    "known.csv": [[*_SOLVE, "--known", "it.csv"]],
    "land.nk": [["optimum", "nk:it"], ["solve", "nk:it", "--max-evaluations", "50"]],
    "study.toml": [["study", "run", "it", "--store", "store.db", "--workers", "1"]],
    "rows.txt": [[*_SOLVE, "--initial", "it"]],
    "valued.txt": [[*_SOLVE, "--initial", "it"]],
    "mine.py": [["solve", "it.py:f", "--n", "8", "--max-evaluations", "50"]],
    **{
        name: [["optimum", f"{kind}:it"], ["solve", f"{kind}:it", "--max-evaluations", "50"]]
        for name, kind in PROBLEMS.items()
    },
}
"""Commands that read a file called `it`, by the name of the whole file."""


def read_run(path: Path, objective: Any = None) -> None:
    import daedal
    from daedal.run.known import load_known

    for read in (
        lambda: load_known(path, n=8),
        lambda: daedal.load(path).x.tolist(),
        lambda: daedal.resume(path, objective, callback=lambda record: record.generation >= 4).x.tolist(),
    ):
        with suppress(*REFUSALS):  # what one way refuses, another may read
            read()
    assert set(daedal.load(path).x.tolist()) <= {0, 1}


def read_store(path: Path) -> Any:
    from daedal.studies.store import Store, unpacked_history

    with Store(path, create=False) as store:
        for number in store.studies():
            study, _, _ = store.study(number)
            for histories in store.histories(cell.key for cell in study.cells()).values():
                for packed in histories.values():
                    unpacked_history(packed)
        return repr((store.runs(), list(store.rows())))


def read_known(path: Path) -> None:
    from daedal.run.known import load_known

    load_known(path, n=8)


def read_problem(path: Path, kind: str = "nk") -> Any:
    import numpy as np

    from daedal.problems.registry import find_problem

    problem = find_problem(f"{kind}:{path}")
    return repr((problem.optimum, problem.evaluate(np.zeros((1, problem.n), dtype=np.uint8))))


def read_study(path: Path) -> Any:
    from daedal.studies.spec import Study

    return repr(Study.from_file(path).as_dict())


def read_initial(path: Path) -> Any:
    from daedal.run.initial import read_initial_file

    return repr(read_initial_file(path))


READERS = {
    "run.db": read_run, "own.db": lambda path: read_run(path, zoo.ones), "store.db": read_store,
    "budgets.db": read_store, "known.csv": read_known, "land.nk": read_problem, "study.toml": read_study,
    "rows.txt": read_initial, "valued.txt": read_initial,
    **{name: functools.partial(read_problem, kind=kind) for name, kind in PROBLEMS.items()},
}  # fmt: skip


def whole_file(name: str) -> bytes:
    """Return the content of a file before it is damaged."""
    if name not in PROBLEMS:
        return zoo.contents()[name]
    load_kernels()
    return problem_files.FILES[name][1].encode("ascii")


@functools.cache
def load_kernels() -> None:
    """Evaluate every problem once, because Numba unpickles compiled kernels."""
    with tempfile.TemporaryDirectory() as folder:
        problem_files.write_files(Path(folder))
        for name, kind in PROBLEMS.items():
            read_problem(Path(folder, name), kind)


def attempt(case: Case) -> Tried:
    """Damage one file, and read it with a function or a command."""
    rng = case.rng
    name = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    whole = whole_file(name)
    blind = not name.endswith(".db") or rng.random() < 0.5
    how, data = (damage.blindly if blind else damage.crafted_database)(whole, rng)
    it = case.folder / {"mine.py": "it.py", "known.csv": "it.csv"}.get(name, "it")
    if name == "mine.py":
        data += b"\n(("  # it is the user's own, so that only what cannot be loaded is of interest
    it.write_bytes(data)
    by_command = name not in READERS or rng.random() < 0.15
    problems = by_words(case, name) if by_command else by_function(case, name, it, data)
    if "evaluation/" in how:  # which asks for worker processes
        problems = [one for one in problems if not one.startswith(PROCESSES)]
    if list(case.folder.glob("**/*canary*")):
        problems.append("what is in the file was run")
    return Tried(f"{name}: {how}" + (", by a command" if by_command else ""), problems)


def by_function(case: Case, name: str, it: Path, data: bytes) -> list[str]:
    """Read a file in a process whose audit events are watched."""
    if data == whole_file(name):
        return []

    def work() -> list[str]:
        warnings.simplefilter("ignore")
        heard: list[str] = []
        watch(case.folder, heard)
        try:
            READERS[name](it)
        except REFUSALS as error:
            said = str(error)
            return heard + ([] if said and len(said) < 2000 and "\n" not in said else [f"unclear: {said[:300]!r}"])
        return heard

    ended = launch(work, case.folder, memory=2 * 2**30).wait(LONGEST)
    if ended.long:
        return ["takes longer than any file of this size may"]
    return ended.complaints(codes=(0,)) + (ended.answer or [])


def watch(folder: Path, heard: list[str]) -> None:
    """Note events that reading does not need."""
    inside = (str(folder.parent), "/proc/", os.devnull)

    def hook(event: str, given: tuple[Any, ...]) -> None:
        if event in FORBIDDEN:
            heard.append(f"{event}{given!r}"[:200])
        elif event == "compile" and b"canary" in (given[0].encode() if isinstance(given[0], str) else given[0] or b""):
            heard.append("what is in the file was compiled")
        elif event == "open" and isinstance(given[2], int) and given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            path = os.path.abspath(os.fsdecode(given[0])) if isinstance(given[0], str | bytes) else "/proc/"
            if not path.startswith((*inside, os.environ["TMPDIR"])):
                heard.append(f"opened {path} to write")

    sys.addaudithook(hook)


def by_words(case: Case, name: str) -> list[str]:
    """Read a file with a command; a file that is refused stays as it is."""
    for other in ("store.db", "budgets.db", "mine.py"):
        (case.folder / other).write_bytes(zoo.contents()[other])
    before = zoo.listed(case.folder)
    ended = launch(command_line(case.rng.choice(COMMANDS[name])), case.folder, memory=3 * 2**30).wait(LONGEST)
    problems = ["takes longer than any file of this size may"] if ended.long else ended.complaints()
    if ended.code == 2:
        after = zoo.listed(case.folder)
        changed = [one for one in before | after if before.get(one) != after.get(one) and not one.endswith(".lock")]
        problems += [f"refused it, but changed {one}" for one in changed]
    return problems


PART = Part(20_000, 300, attempt)

"""Files of every format that daedal reads, damaged and crafted.

They are read, or refused with one clear error; no code in them is run, no time or memory is lost, and a command that
would write to such a file and refuses it leaves it as it is.
"""

from __future__ import annotations

import functools
import os
import sys
import tempfile
import warnings
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
"""What reading a file never has to do, by the names of Python's audit events."""

PROCESSES = ("subprocess.Popen", "pickle.find_class", "os.kill", "marshal.loads")
"""What starting worker processes does."""

PROBLEMS = {name: problem_files.FILES[name][0] for name in (
    "tiny.cnf", "tiny.wcnf", "tiny.ising", "tiny.graph", "three.mkp", "two.qubo"
)}  # fmt: skip
"""Problem files of every other format, by name: the kind of problem."""

REFUSALS = (ValueError, OSError)
LONGEST = 10.0  # seconds: they are small files
WEIGHTS = {
    "run.ckpt": 25,
    "own.ckpt": 15,
    "store.db": 18,
    "budgets.db": 8,
    "cache.db": 12,
    "saved.npz": 15,
    "land.nk": 8,
    "study.toml": 8,
    "rows.txt": 3,
    "valued.txt": 3,
    "mine.py": 1,
    **dict.fromkeys(PROBLEMS, 1),
}
_SOLVE = ["solve", "onemax:n=8", "--max-evaluations", "50", "-a", "umda"]
_READ_STORE = [["study", command, "--store", "it"] for command in ("status", "table", "export")]
COMMANDS = {
    "run.ckpt": [["resume", "it"]],
    "own.ckpt": [["resume", "it", "mine.py:f"]],
    "store.db": [
        *_READ_STORE,
        *(["study", "merge", *words] for words in (["it", "--store", "budgets.db"], ["budgets.db", "--store", "it"])),
    ],
    "budgets.db": [*_READ_STORE, ["study", "merge", "it", "--store", "store.db"]],
    "cache.db": [[*_SOLVE, "--cache", "it"]],
    "saved.npz": [["report", "it", "-o", "page.html"]],
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
"""By the name of the whole file: what reads it when it is called `it`."""


def read_checkpoint(path: Path, objective: Any = None) -> Any:
    import daedal
    from daedal.run.checkpoint import load_checkpoint

    state = load_checkpoint(path)
    shown = {name: array.tobytes() for name, array in state.arrays.items()} | dict(state.fields)
    result = daedal.resume(path, objective, callback=lambda record: record.generation >= 4)
    assert set(result.x.tolist()) <= {0, 1}
    return repr(sorted(shown.items(), key=str))


def read_store(path: Path) -> Any:
    from daedal.studies.store import Store

    with Store(path, create=False) as store:
        for number in store.studies():
            study, _, _ = store.study(number)
            for cell in list(study.cells())[:3]:
                store.history(cell, 0)
        return repr((store.runs(), list(store.rows())))


def read_cache(path: Path) -> Any:
    import numpy as np

    from daedal.evaluation.sqlite_cache import SQLiteCache

    with SQLiteCache(path, n=8, objective="onemax:n=8") as cache:
        rows = np.eye(8, dtype=np.uint8)
        found = cache.find(rows)
        cache.add(rows, rows.sum(axis=1).astype(float))
        return repr(found)


def read_problem(path: Path, kind: str = "nk") -> Any:
    import numpy as np

    from daedal.problems.registry import find_problem

    problem = find_problem(f"{kind}:{path}")
    return repr((problem.optimum, problem.evaluate(np.zeros((1, problem.n), dtype=np.uint8))))


def read_study(path: Path) -> Any:
    from daedal.studies.spec import Study

    return repr(Study.from_file(path).as_dict())


def read_initial(path: Path) -> Any:
    from daedal.cli.options import read_rows

    return repr(read_rows(path))


def read_saved(path: Path) -> Any:
    import daedal

    result = daedal.load(path)
    assert set(result.x.tolist()) <= {0, 1}
    return repr(result)


READERS = {
    "saved.npz": read_saved,
    "run.ckpt": read_checkpoint, "own.ckpt": lambda path: read_checkpoint(path, zoo.ones), "store.db": read_store,
    "budgets.db": read_store, "cache.db": read_cache, "land.nk": read_problem, "study.toml": read_study,
    "rows.txt": read_initial, "valued.txt": read_initial,
    **{name: functools.partial(read_problem, kind=kind) for name, kind in PROBLEMS.items()},
}  # fmt: skip


def whole_file(name: str) -> bytes:
    """Give what is in a file before it is damaged."""
    if name not in PROBLEMS:
        return zoo.contents()[name]
    load_kernels()
    return problem_files.FILES[name][1].encode("ascii")


@functools.cache
def load_kernels() -> None:
    """Have every problem evaluated once: Numba unpickles what it compiled, which is not the file's doing."""
    with tempfile.TemporaryDirectory() as folder:
        problem_files.write_files(Path(folder))
        for name, kind in PROBLEMS.items():
            read_problem(Path(folder, name), kind)


def attempt(case: Case) -> Tried:
    """Damage one file, and have it read, by a function or by a command."""
    rng = case.rng
    name = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    whole = whole_file(name)
    crafts = {"ckpt": damage.crafted_checkpoint, "npz": damage.crafted_checkpoint, "db": damage.crafted_database}
    craft = crafts.get(name.rpartition(".")[2], damage.blindly)
    blind = craft is damage.blindly or rng.random() < 0.5
    how, data = (damage.blindly if blind else craft)(whole, rng)
    it = case.folder / ("it.py" if name == "mine.py" else "it")
    if name == "mine.py":
        data += b"\n(("  # it is the user's own, so that only what cannot be loaded is of interest
    it.write_bytes(data)
    by_command = name not in READERS or rng.random() < 0.15
    problems = by_words(case, name, it, data) if by_command else by_function(case, name, it, data, sealed=blind)
    if any(
        f"evaluation/{asked}" in how for asked in ("workers", "timeout")
    ):  # which is to ask for processes of daedal's
        problems = [one for one in problems if not one.startswith(PROCESSES)]
    if list(case.folder.glob("**/*canary*")):
        problems.append("what is in the file was run")
    return Tried(f"{name}: {how}" + (", by a command" if by_command else ""), problems)


def by_function(case: Case, name: str, it: Path, data: bytes, *, sealed: bool) -> list[str]:
    """Read a file in a process that looks at all that is done; what is sealed reads as it was, or not at all."""
    whole = whole_file(name)
    if data == whole:
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
        if sealed and name.endswith((".ckpt", ".npz")):
            heard.append("a damaged checkpoint was read")
        return heard

    ended = launch(work, case.folder, memory=2 * 2**30).wait(LONGEST)
    if ended.long:
        return ["takes longer than any file of this size may"]
    return ended.complaints(codes=(0,)) + (ended.answer or [])


def watch(folder: Path, heard: list[str]) -> None:
    """Note what is done that reading does not need."""
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


def by_words(case: Case, name: str, it: Path, data: bytes) -> list[str]:
    """Read a file by a command; whatever is not of use is left as it was."""
    for other in ("store.db", "budgets.db", "mine.py"):
        (case.folder / other).write_bytes(zoo.contents()[other])
    before = zoo.listed(case.folder)
    ended = launch(command_line(case.rng.choice(COMMANDS[name])), case.folder, memory=3 * 2**30).wait(LONGEST)
    problems = ["takes longer than any file of this size may"] if ended.long else ended.complaints()
    if ended.code == 2 and name != "cache.db":  # to which rows are added until a damaged page turns up
        after = zoo.listed(case.folder)
        changed = [one for one in before | after if before.get(one) != after.get(one) and not one.endswith(".lock")]
        problems += [f"refused it, but changed {one}" for one in changed]
    return problems


PART = Part(
    "files",
    20_000,
    300,
    attempt,
    "checkpoints, stores, caches, problem files, studies, first rows: damaged and crafted",
)

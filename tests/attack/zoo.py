"""Files of every kind, made once and copied into the folder of each case."""

from __future__ import annotations

import functools
import hashlib
import os
import stat
import tempfile
from pathlib import Path

import problem_files
import sandbox

MINE = """\
import os, sys, time
import numpy as np

def f(x):
    return x.sum(axis=1)

def g(row):
    return float((row * np.arange(1, len(row) + 1)).sum() % 7)

def loud(x):
    print("hello"); os.write(1, b"from below\\n")
    return x.sum(axis=1)

def tuned(values):
    return values["size"] + (values["mode"] == "fast")

def bounded(x):
    return x.sum(axis=1), x.sum(axis=1) - 5

def bad(x):
    raise RuntimeError("the simulator\\nis \\x1b[31mdown\\x07 \\udcff")

def nothing(x):
    return np.full(len(x), -np.inf)

class Odd:
    def __getattr__(self, name):
        raise RuntimeError("no " + name)
odd = Odd()
"""
STUDY = """\
runs = 2
popsizes = [20, 40]
problems = ["onemax:n=8", { name = "=1+1", problem = "trap:k=4,n=8" }]
algorithms = ["umda", { name = "slow \\u001b[31m", algorithm = "pbil", settings = { learning_rate = 0.1 } }]
limits = { max_generations = 3 }
"""
OTHER_STUDY = """\
runs = 1
budgets = [30, 60]
problems = ["onemax:n=6"]
algorithms = ["ils", "umda"]
"""
SPACE = """\
size = { type = "integer", low = 1, high = 9 }
mode = { type = "choice", values = ["fast", "small", "=1+1", "\\u001b[31m"] }
some = { type = "subset", items = 5, at_most = 2 }
order = { type = "permutation", items = 3 }
"""
PLAIN = {
    "mine.py": MINE,
    "study.toml": STUDY,
    "other.toml": OTHER_STUDY,
    "notes.txt": "Bought milk.\n",
    "rows.txt": "# rows\n00000000\n11110000\n",
    "valued.txt": "00000000 0\n11110000 4\n",
    "data.csv": "a,b\n1,2\n",
    "known.csv": "x0,x1,x2,x3,x4,x5,x6,x7,fitness\n0,0,0,0,0,0,0,0,0\n1,1,1,1,0,0,0,0,4\n",
    "report.md": "# A report\n",
    "space.toml": SPACE,
    "values.jsonl": '{"size": 3, "mode": "fast", "some": [1], "order": [2, 0, 1], "fitness": 4}\n',
    "empty": "",
    **{name: text for name, (_, text) in problem_files.FILES.items()},
}
KINDS = {
    "run.db": "run", "own.db": "run", "store.db": "store", "budgets.db": "store", "land.nk": "nk", "tiny.nk": "nk",
    "data.csv": "table", "known.csv": "table", "report.md": "table", "empty": "empty",
}  # fmt: skip
"""Files that an output of the same kind may replace; all others must stay as they are."""

LINKS = {"link": "notes.txt", "link.run": "run.db", "link.db": "store.db", "dangling": "nowhere", "loop": "loop"}
OTHERS = ("folder", "fifo")
NODES = ("zero", "full", "null")


@functools.cache
def contents() -> dict[str, bytes]:
    """Return the content of a file of each kind."""
    from study_helpers import Inline

    import daedal
    from daedal.problems import NK, write_nk
    from daedal.studies.runner import Order, run_study
    from daedal.studies.spec import Study
    from daedal.studies.store import Store

    found = {name: text.encode("utf-8", "surrogateescape") for name, text in PLAIN.items()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for text, store in (("study.toml", "store.db"), ("other.toml", "budgets.db")):
            (folder / text).write_bytes(found[text])
            with Store(folder / store) as opened:
                run_study(Study.from_file(folder / text), opened, Order(), pool=Inline())
        few = {"algorithm": "umda", "popsize": 20, "seed": 1, "callback": lambda record: record.generation == 2}
        daedal.maximize("trap:k=4,n=8", run=folder / "run.db", **few | {"algorithm": "dae"})
        daedal.maximize(ones, 8, run=folder / "own.db", **few)
        write_nk(NK.random(8, 2, 1), folder / "land.nk")
        for path in folder.iterdir():
            if path.name in KINDS:
                found[path.name] = path.read_bytes()
    return found


def ones(x):
    return x.sum(axis=1)


def stock(folder: Path) -> None:
    """Fill a folder with files of each kind, links, a folder, a pipe and, if they are copies, devices."""
    for name, data in contents().items():
        (folder / name).write_bytes(data)
    for name, target in LINKS.items():
        (folder / name).symlink_to(target)
    (folder / "folder").mkdir()
    (folder / "folder" / "inside.txt").write_bytes(b"inside\n")
    os.mkfifo(folder / "fifo")
    if sandbox.has_devices():
        for name in NODES:
            sandbox.make_node(folder / name)


def listed(folder: Path) -> dict[str, str]:
    """Return the mode and content of everything in a folder, by path."""
    found = {}
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(place, name)
            about = os.lstat(path)
            content = ""
            if stat.S_ISREG(about.st_mode):
                with open(path, "rb") as file:
                    data = file.read()
                if data.startswith(b"SQLite format 3"):  # without the counters, which a transaction undone has changed
                    data = data[:24] + data[28:92] + data[96:]
                content = hashlib.sha256(data).hexdigest()
            elif stat.S_ISLNK(about.st_mode):
                content = os.readlink(path)
            found[os.path.relpath(path, folder)] = f"{stat.filemode(about.st_mode)} {about.st_rdev} {content}"
    return found

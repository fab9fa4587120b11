"""A small problem file of each format, written by hand."""

from __future__ import annotations

from pathlib import Path

FILES: dict[str, tuple[str, str]] = {
    "tiny.nk": ("nk", "2 1\n0\n1\n1\n0\n0.1\n0.2\n0.3\n0.4\n1\n2e0\n.5\n-4.\nOptimum: 2.3\n"),
    "tiny.cnf": (
        "maxsat",
        "c five clauses, of which four can be satisfied\nc\np cnf 3  5 \n 1 2 0\n1 -2 0\n-1 3 0\n-1 -3\n0 2 3 0\n",
    ),
    "satlib.cnf": ("maxsat", "c satisfiable\np cnf 4 3\n1 -2 3 0\n-1 4 0\n2 -3 -4 0\n%\n0\n\n"),
    "tiny.wcnf": ("maxsat", "c\np wcnf 3 5 100\n100 -1 -2 0\n100 1 2 3 0\n5 1 0\n7 2 0\n2 -3 0\n"),
    "soft.wcnf": ("maxsat", "p wcnf 2 3\n4 1 0\n3 -1 2 0\n6 -2 0\n"),
    "new.wcnf": ("maxsat", "c the format of 2022\nh -1 -2 0\nh 1 2 3 0\n5 1 0\n7 2 0\n2 -3 0\n"),
    "tiny.ising": ("ising", "-2 1100\n4\n0 1 1\n1 2 -1\n2 3 1\n3 0 1\n"),
    "tiny.graph": ("maxcut", "5 6\n1 2 3\n2 3 1\n3 1 2\n3 4 4\n4 5 -2\n5 1 5\n"),
    "tiny.mkp": ("mkp", "1\n4 2 15\n6 5 8 9\n2 3 6 7\n7 5 3 3\n9 10\n"),
    "three.mkp": (
        "mkp",
        " 3 \n 3 1 0 \n 3 4 5 \n 2 3 4 \n 5 \n 4 2 15\n 6 5 8\n 9\n 2 3 6 7 7 5 3 3\n 9 10\n2 1 1.5\n1.5 1\n2 1\n2\n",
    ),
    "tiny.qubo": ("qubo", "3 5\n1 1 2\n2 2 -1\n3 3 3\n1 2 4\n1 3 -5\n"),
    "two.qubo": ("qubo", "2\n2 3\n1 1 3\n2 2 1\n1 2 -1\n3 2\n1 2 0.5\n3 3 1\n"),
}
"""By the name of the file: the kind of problem, and the text."""

_FIRST = {kind: name for name, (kind, _) in reversed(FILES.items())}


def write_files(folder: Path) -> None:
    """Write all of them into a folder."""
    for name, (_, text) in FILES.items():
        (folder / name).write_text(text, encoding="ascii")


def with_file(example: str, folder: Path) -> str:
    """Put a file, which is written, into the example of a problem that is read from one."""
    name = _FIRST.get(example.partition(":")[0], "")
    if "FILE" in example:
        write_files(folder)
    return example.replace("FILE", str(folder / name))

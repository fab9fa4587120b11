"""Command lines: every command and option, with suitable and unsuitable values and files.

No command shows a traceback, hangs, or ends with an undocumented exit code. Nothing changes except files that a command
names as its output, and only if they are of the same kind.
"""

from __future__ import annotations

import functools
import json
import os
import random
import shlex
from pathlib import Path
from typing import Any

import zoo
from cases import Case, Part, Tried
from processes import command_line, launch
from values import odd_text

REAL = 0.05
"""The share of cases that run in a Python of their own."""

PROBLEMS = (
    "onemax:n=8", "trap:k=4,n=8", "hiff:n=8", "nk:n=8,k=2,seed=1", "nk:land.nk", "mine.py:f", "mine.py:g",
    "mine.py:loud", "mine.py:bad", "mine.py:nothing", "mine.py:odd", "mine.py:missing", "mine.py", "cmd:cat",
    "cmd:./notes.txt", "cmd:true", "cmd:false", "cmd:", "cmd:sh -c 'while read x; do echo 1; done'", "onemax:n=0",
    "onemax:n=-1", "onemax", "trap:k=3,n=8", "onemax:n=8,n=9", "nk:study.toml", "nk:zero", "nk:fifo", "nk:folder",
    "nk:loop", "notes.txt:f", "study.toml:f", "folder:f", "mine.py:tuned", "mine.py:bounded", "maxsat:tiny.cnf",
    "maxsat:tiny.wcnf", "ising:tiny.ising", "maxcut:tiny.graph", "mkp:three.mkp,problem=2", "mkp:three.mkp,problem=9",
    "qubo:two.qubo", "qubo:tiny.cnf", "labs:n=8", "leadingones:n=8", "knapsack:n=8", "pbo:18,n=8",
)  # fmt: skip
FILES = (*zoo.PLAIN, *zoo.KINDS, *zoo.LINKS, *zoo.OTHERS, *zoo.NODES)
PATHS = (
    *FILES, "new", "new.db", "new.csv", "new.md", "new.tex", "new.json", "new.parquet", "folder/new", "nowhere/new",
    "./run.db", "folder/../mine.py", "a\udcffb", "a b", "-x", "x" * 300, "", "\x1b[31m", ".", "..", "/",
    "/dev/full", "/dev/stdout",
)  # fmt: skip
REPRODUCED = ("-a", "PBIL", "--runs", "1", "--max-popsize", "50", "--workers", "1")
SOURCES = ("run.db", "run.db", "own.db", "store.db", "budgets.db", "link.run", *PATHS)
BASES: dict[str, tuple[str, ...]] = {
    "solve": ("PROBLEM", "-a", "umda", "--popsize", "20", "--seed", "1", "--n", "8", "--max-evaluations", "60"),
    "resume": ("run.db",),
    "report": ("SOURCE", "-o", "new.html"),
    "compare": ("PROBLEM", "-a", "umda", "-a", "ils", "--runs", "2", "--n", "8", "--max-evaluations", "60"),
    "list": (),
    "optimum": ("PROBLEM",),
    "instance nk": ("--n", "8", "--k", "2", "-o", "PATH"),
    "study init": ("PATH",),
    "study run": ("study.toml", "--store", "store.db", "--workers", "1"),
    "study status": ("--store", "store.db"),
    "study table": ("--store", "store.db"),
    "study plot": ("--store", "store.db", "-o", "PATH"),
    "study merge": ("budgets.db", "--store", "store.db"),
    "study export": ("--store", "store.db"),
    "reproduce table1": ("--problem", "trap:k=4,n=20", *REPRODUCED),
    "reproduce figures": REPRODUCED,
}
"""Words with which a command does something quickly; each of them may be changed."""

SPACED = ("mine.py:tuned", "--space", "space.toml", "-a", "ils", "--seed", "1", "--max-evaluations", "60")

WEIGHTS = {
    "solve": 40, "resume": 8, "compare": 6, "study run": 3, "study plot": 1, "reproduce table1": 0.3,
    "reproduce figures": 0.2,
}  # fmt: skip
SLOW = {"--dask", "--watch", "--install-completion", "--show-completion"}
"""Options that take seconds, never end, or change the shell's own files; they are not drawn."""

OUTPUTS = {"--run": "run", "--store": "store", "--output": "table", "-o": "table", "--log": "folder"}
OUTPUT_KINDS = {"instance nk": "nk", "report": "report", "study plot": "folder", "reproduce figures": "folder"}
WRITES_STORE = ("study run", "study merge", "reproduce table1", "reproduce figures")
BESIDE = ("", "-wal", "-shm", "-journal", ".lock")


@functools.cache
def commands() -> dict[str, Any]:
    """Return all commands by name, as the application lists them."""
    import typer.main

    from daedal.cli.app import app

    def listed(group: Any, above: tuple[str, ...]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for word in group.list_commands(None):
            one = group.get_command(None, word)
            found |= listed(one, (*above, word)) if hasattr(one, "list_commands") else {" ".join((*above, word)): one}
        return found

    return listed(typer.main.get_command(app), ())


@functools.cache
def options_of(command: str) -> dict[str, tuple[str, ...]]:
    """Return the options of a command, each with suitable values."""
    options: dict[str, tuple[str, ...]] = {"--help": ()}
    for parameter in commands()[command].params:
        names = [name for name in (*parameter.opts, *parameter.secondary_opts) if name.startswith("-")]
        kind = str(parameter.type_descriptor.annotation)
        values = () if getattr(parameter, "is_flag", False) else PATHS if "Path" in kind else ("1", "2", "3", "8")
        options |= {name: values and GOOD.get(name, values) for name in names if name not in SLOW}
    return options


_ALGORITHMS = ("umda", "pbil", "boa", "mix", "ils", "auto", "mine.py:f", "tree")
GOOD: dict[str, tuple[str, ...]] = {
    "--algorithm": _ALGORITHMS, "-a": _ALGORITHMS, "--set": ("popsize=30", "selection=truncation"),
    "--popsize": ("20", "auto"), "--on-error": ("raise", "worst", "retry:2", "retry:1,worst"),
    "--workers": ("1", "1", "1", "2"), "--initial": ("rows.txt", "valued.txt", *PATHS),
    "--known": ("run.db", "own.db", "known.csv", *PATHS), "--run": ("new.db", "run.db", "own.db", *PATHS),
    "--test": ("signed-rank", "mann-whitney"), "--problem": ("onemax:n=8", "nk"), "--max-seconds": ("1", "0.01"),
    "--timeout": ("5",), "--n": ("8", "4", "1", "9"), "--runs": ("1", "2"), "--confirm": ("0", "1"),
    "--max-popsize": ("20", "50"), "--budget": ("20", "30"), "--space": ("space.toml", "space.toml", *PATHS),
    "--log": ("folder", "new", "mine.py"), "--format": ("rich", "markdown", "latex", "csv", "json", "parquet"),
}  # fmt: skip
"""Suitable values of options whose type does not tell."""


def draw(rng: random.Random) -> tuple[str, list[str]]:
    """Draw a command and its words."""
    if rng.random() < 0.02:
        return "", [odd_text(rng) for _ in range(rng.randrange(3))]
    command = rng.choices(list(commands()), [WEIGHTS.get(name, 4) for name in commands()])[0]
    places = {"PROBLEM": PROBLEMS, "PATH": PATHS, "SOURCE": SOURCES}
    base = SPACED if command == "solve" and rng.random() < 0.1 else BASES.get(command, ())
    words = [rng.choice(places[word]) if word in places else word for word in base]
    options = options_of(command)
    for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4))):
        what = rng.random()
        if what < 0.15 and words:  # any word may be another
            at = rng.randrange(len(words))
            words[at] = rng.choice((odd_text(rng), rng.choice(PATHS)))
        elif what < 0.2 and words:
            del words[rng.randrange(len(words))]
        elif what < 0.25:
            words.insert(rng.randrange(len(words) + 1), odd_text(rng))
        else:
            option = rng.choice(list(options))
            words.append(option)
            if options[option]:
                words.append(rng.choice(options[option]) if rng.random() < 0.6 else odd_text(rng))
    return command, [word.replace("\0", "") for word in words]


def named_outputs(command: str, words: list[str]) -> dict[str, str]:
    """Return the paths that a command line names as outputs, each with its kind of file."""
    found = {}
    for at, word in enumerate(words):
        option, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        value = value if equals else words[at + 1] if at + 1 < len(words) else ""
        kind = OUTPUTS.get(option)
        if kind == "table":
            kind = OUTPUT_KINDS.get(command, kind)
        if kind and (kind != "store" or command in WRITES_STORE):
            found[value] = kind
    if command == "resume":
        found |= dict.fromkeys(words, "run")
    if command == "study init":
        found |= dict.fromkeys(words, "new")
    defaults = {"reproduce table1": ("repro.db", "store"), "reproduce figures": ("repro-figures.db", "store")}
    if command in defaults:
        found.setdefault(*defaults[command])
    if command in ("study plot", "reproduce figures"):
        found.setdefault("figures", "folder")
    return found


def changes(before: dict[str, str], after: dict[str, str], outputs: dict[str, str], folder: Path) -> list[str]:
    """Return which files have changed although they must not."""
    allowed: dict[str, str] = {}
    for name, kind in outputs.items():
        try:
            real = os.path.relpath(os.path.realpath(folder / name), folder)
        except (OSError, ValueError):
            continue
        for one in {os.path.normpath(name), real}:
            allowed |= {one + end: kind for end in BESIDE}
    found = []
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) == after.get(name):
            continue
        inside = any(
            kind == "folder" and (one == "." or name.startswith(f"{one}{os.sep}")) for one, kind in allowed.items()
        )
        if name not in allowed and not inside:
            found.append(f"changed a file that was not named as an output: {name}")
        elif name in before and not may_replace(name, allowed.get(name, "folder")):
            found.append(f"changed a file of another kind: {name} ({before[name][:20]}...)")
    return found


def may_replace(name: str, kind: str) -> bool:
    """Return True if an output of a kind may replace a file of the zoo."""
    there = zoo.KINDS.get(name, "other")
    return there == "empty" or (there == kind and kind != "new")


def attempt(case: Case) -> Tried:
    """Run one command line, and check all files around it."""
    command, words = draw(case.rng)
    zoo.stock(case.folder)
    before = zoo.listed(case.folder)
    line = [*command.split(), *words]
    process = launch(command_line(line, real=case.rng.random() < REAL), case.folder)
    ended = process.wait()
    problems = ended.complaints()
    if ended.code == 2 and not ended.err.strip().splitlines()[-1:][0].startswith("error: "):
        problems.append(f"exit code 2 without a line that says why: {ended.err.strip()[-200:]!r}")
    if "--json" in words and ended.code == 0 and "-h" not in words and "--help" not in words:
        problems += not_json(ended.out)
    outputs = named_outputs(command, words)
    problems += changes(before, zoo.listed(case.folder), outputs, case.folder)
    return Tried(shlex.join(["daedal", *(word if len(word) < 200 else word[:200] + "..." for word in line)]), problems)


def not_json(text: str) -> list[str]:
    """Return a problem if a text is not one JSON object in one line."""
    try:
        json.loads(text, parse_constant=lambda constant: [][int(constant)])
    except (ValueError, IndexError):
        return [f"standard output is not one JSON object: {text[:100]!r}"]
    return [] if text.count("\n") == 1 else ["standard output has more than its one line of JSON"]


PART = Part(5_000, 100, attempt)

"""Disks that are full at any byte: existing files stay whole, and with room again the result is as on any disk."""

from __future__ import annotations

import os
import subprocess
from contextlib import closing
from pathlib import Path

import runs
import sandbox
import zoo
from cases import Case, Part, Tried
from processes import Ended, command_line, launch
from study_helpers import stored

SIZE = 2**20
LIMITS = {"run": 40_000, "resume": 40_000, "store": 90_000, "instance": 3_000, "export": 9_000, "table": 9_000}
"""Bytes, about, that would be written by kind of output; the disk is full somewhere before."""

COMMANDS: dict[str, list[str]] = {
    "run": runs.solving("serial", "umda", run="disk/run.db"),
    "resume": runs.resuming("serial", run="disk/run.db"),
    "store": ["study", "run", "study.toml", "--store", "disk/study.db", "--workers", "1"],
    "instance": ["instance", "nk", "--n", "12", "--k", "3", "-o", "disk/land.nk"],
    "export": ["study", "export", "--store", "store.db", "-o", "disk/runs.csv"],
    "table": ["study", "table", "--store", "store.db", "-o", "disk/table.md"],
}


def attempt(case: Case) -> Tried:
    """Write to a disk that has too little room, and then to the same disk with room."""
    kind = case.rng.choice(list(COMMANDS))
    room = case.rng.randrange(LIMITS[kind])
    small_disk = sandbox.has_devices() and (kind in ("export", "table") or case.rng.random() < 0.6)
    if not small_disk:
        room = max(room, 1_500)  # what a command says goes to a file here, too
    disk = case.folder / "disk"
    disk.mkdir()
    runs.furnish(case.folder)
    for name in ("store.db", "budgets.db"):
        (case.folder / name).write_bytes(zoo.contents()[name])
    if small_disk:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "disk", str(disk)], check=True)
    try:
        problems = _tried(case, kind, room, disk, small_disk=small_disk)
    finally:
        if small_disk:
            subprocess.run(["umount", "--lazy", str(disk)], check=True)
    way = "a disk" if small_disk else "files"
    return Tried(f"{way} with room for {room} bytes: daedal {' '.join(COMMANDS[kind])}", problems)


def _tried(case: Case, kind: str, room: int, disk: Path, *, small_disk: bool) -> list[str]:
    before = _prepared(case, kind, disk)
    if small_disk:
        _fill(disk, room)
    words = COMMANDS[kind]
    ended = launch(command_line(words), case.folder, largest=None if small_disk else room).wait(120)
    problems = ended.complaints(codes=(0, 2))
    problems += [f"left a draft: {path.name}" for path in disk.glob(".*")]
    problems += _harmed(before, kind, disk, ended)
    (disk / "filler").unlink(missing_ok=True)
    if kind == "resume" and not runs.has_begun(disk / "run.db"):
        words = COMMANDS["run"]
    again = launch(command_line(words), case.folder, name="-again").wait(120)
    problems += again.complaints(codes=(0,))
    if again.code == 0:
        problems += _unlike(case, kind, disk, again)
    return problems


def _prepared(case: Case, kind: str, disk: Path) -> dict[str, bytes]:
    """Put half a run, another study or an older table on the disk."""
    if kind == "resume":
        process = launch(command_line(COMMANDS["run"]), case.folder, name="-half")
        runs.wait_for_calls(process, case.folder, 60)
        process.send(2)
        process.wait(120)
    elif kind == "store" and case.rng.random() < 0.5:
        (disk / "study.db").write_bytes(zoo.contents()["store.db"])
    elif kind in ("export", "table", "instance") and case.rng.random() < 0.8:
        older = [{"store.db": "budgets.db", "12": "6"}.get(word, word) for word in COMMANDS[kind]]  # and so smaller
        launch(command_line(older), case.folder, name="-old").wait(120)
    return {path.name: path.read_bytes() for path in disk.iterdir()}


def _fill(disk: Path, room: int) -> None:
    """Fill the disk up to some bytes."""
    with (disk / "filler").open("wb", buffering=0) as filler:
        free = os.statvfs(disk)
        filler.write(bytes(max(0, free.f_bavail * free.f_frsize - room)))


def _harmed(before: dict[str, bytes], kind: str, disk: Path, ended: Ended) -> list[str]:
    """Return which existing files are damaged."""
    found = []
    for name, data in before.items():
        path = disk / name
        if not path.exists():
            found.append(f"{name} is gone")
        elif path.read_bytes() == data or name.endswith(("-wal", "-shm")):
            continue
        elif ended.code == 2 and kind in ("instance", "export", "table"):
            found.append(f"{name} has changed, though the command has failed")
        else:
            found += _unreadable(path, data, kind)
    return found


def _unreadable(path: Path, data: bytes, kind: str) -> list[str]:
    from daedal.run.run_file import read_run

    try:
        if path.name == "run.db":
            with closing(read_run(path)) as file:
                list(file.evaluations())
        elif kind == "store":
            old = path.parents[1] / "old.db"  # not on the full disk
            old.write_bytes(data)
            missing = stored(old).keys() - stored(path).keys()
            old.unlink()
            return [f"{len(missing)} runs are gone"] if missing else []
    except (ValueError, OSError) as error:
        return [f"{path.name} cannot be read any more: {error}"]
    return []


def _unlike(case: Case, kind: str, disk: Path, again: Ended) -> list[str]:
    """Return the differences from the result on any disk."""
    if kind in ("run", "resume"):
        return runs.differences(runs.told(again), runs.undisturbed("serial", "umda"))
    if kind == "store":
        mine = runs.comparable(disk / "study.db")
        return [] if all(row in mine for row in runs.undisturbed_study()) else ["the study lacks runs"]
    output, elsewhere = disk / Path(COMMANDS[kind][-1]).name, case.folder / "elsewhere"
    elsewhere.mkdir()
    words = [*COMMANDS[kind][:-1], f"elsewhere/{output.name}"]
    launch(command_line(words), case.folder, name="-else").wait(120)
    same = (elsewhere / output.name).read_bytes() == output.read_bytes()
    return [] if same else ["another file than on an empty disk"]


PART = Part(100, 6, attempt)

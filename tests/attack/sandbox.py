"""Where attacks are made: a folder of their own and, for root on Linux, namespaces in which all else is read-only."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
KERNELS = Path(tempfile.gettempdir()) / "daedal-attack-kernels"
"""Machine code of `warm_up`. Each sandbox has a copy, since Numba uses a cache only if it can write to it."""

NODES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9)}
_DEPTH = 4
"""How deep a home folder is listed: they can be vast."""

_LEFT_OUT = {".git", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".venv"}
"""What git, Python and its tools change by themselves while an attack runs."""


def can_isolate() -> bool:
    """Whether this process may have namespaces of its own."""
    if os.name != "posix" or os.geteuid() != 0 or shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], check=False).returncode == 0


def isolated(command: list[str]) -> list[str]:
    """Give a command that runs another one with mounts and processes of its own, all of which end with it."""
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", *command]


def furnish(root: Path) -> None:
    """Make the folder ready, and, in a namespace of our own, everything outside of it read-only."""
    if os.environ.get("DAEDAL_ATTACK_ISOLATED"):
        _mount("-t", "tmpfs", "attack", str(root))
        _own_devices(root / "dev")
        _own_machine_code(root / "kernels")
        _close_the_rest(root)
    for name in ("cases", "home"):
        (root / name).mkdir()


def has_devices() -> bool:
    """Whether nodes in /dev are copies, which may be put to the test."""
    return bool(os.environ.get("DAEDAL_ATTACK_ISOLATED"))


def _own_devices(folder: Path) -> None:
    """Put copies of some devices in place of all: whoever replaces one, replaces a copy."""
    folder.mkdir()
    for name, numbers in NODES.items():
        make_node(folder / name)
        assert os.stat(folder / name).st_rdev == os.makedev(*numbers)
    for name, target in {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}.items():
        (folder / name).symlink_to(target)
    (folder / "shm").mkdir()
    (folder / "shm").chmod(0o1777)
    _mount("--bind", str(folder), "/dev")


def mend_devices() -> list[str]:
    """Put back our copies of devices that were replaced or written over; say which."""
    if not has_devices():
        return []
    odd = []
    for name, numbers in NODES.items():
        path = Path("/dev") / name
        if not path.is_char_device() or path.stat().st_rdev != os.makedev(*numbers):
            odd.append(f"replaced the device {path}")
            path.unlink(missing_ok=True)
            make_node(path)
    return odd


def make_node(path: Path, like: str | None = None) -> None:
    """Make a device node, like the one of that name in /dev."""
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(*NODES[like or path.name]))
    path.chmod(0o666)


def _own_machine_code(folder: Path) -> None:
    KERNELS.mkdir(exist_ok=True)
    shutil.copytree(KERNELS, folder)


def _close_the_rest(root: Path) -> None:
    ours = {str(root), "/dev"}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        place = line.split()[4].encode().decode("unicode_escape")
        if place not in ours and not place.startswith(("/proc", "/dev/")):
            _mount("-o", "remount,bind,ro", place, must=place == "/")
    try:
        (REPOSITORY / ".attack").touch()
    except OSError:
        return
    raise OSError(f"expected {REPOSITORY} to be read-only in the namespace, but it can be written to")


def _mount(*words: str, must: bool = True) -> None:
    subprocess.run(["mount", *words], check=must, capture_output=True)


def environment(root: Path) -> dict[str, str]:
    """Give the environment of attacks: nothing of the user's is where daedal would look for it."""
    drop = {"FORCE_COLOR", "NO_COLOR", "COLUMNS", "TERM", "PYTHONPATH", "NUMBA_CACHE_DIR"}
    kept = {name: value for name, value in os.environ.items() if name not in drop and not name.startswith("XDG_")}
    own = {"HOME": str(root / "home"), "MPLCONFIGDIR": str(root / "home" / "matplotlib")}
    own["NUMBA_CACHE_DIR"] = str(root / "kernels")
    return kept | own | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", "TMPDIR": str(root / "home")}


class Outside:
    """What is in the repository, the home folder and the folder of temporary files, listed before and after."""

    def __init__(self, root: Path, *, isolates: bool) -> None:
        self.root = root
        everywhere = ((REPOSITORY, 99), (Path.home(), _DEPTH), (Path(tempfile.gettempdir()), 1))
        # All of it is read-only in a namespace: what changes in a home or in /tmp meanwhile is somebody else's doing.
        self.folders = everywhere[:1] if isolates else everywhere
        self.before = self._listed()

    def changes(self) -> list[str]:
        """Give what has changed since."""
        after = self._listed()
        return sorted(name for name in self.before.keys() | after.keys() if self.before.get(name) != after.get(name))

    def _listed(self) -> dict[str, tuple[int, ...]]:
        found: dict[str, tuple[int, ...]] = {}
        for folder, depth in self.folders:
            for entry in _walk(folder, depth, self.root):
                about = entry.stat(follow_symlinks=False)
                found[entry.path] = (about.st_mode, about.st_ino, about.st_size, about.st_mtime_ns)
        return {name: about for name, about in found.items() if not stat.S_ISDIR(about[0])}


def _walk(folder: Path, depth: int, apart_from: Path) -> Iterator[os.DirEntry[str]]:
    if depth == 0:
        return
    try:
        entries = list(os.scandir(folder))
    except OSError:  # not ours to read
        return
    for entry in entries:
        if entry.name in _LEFT_OUT or entry.path == str(apart_from):
            continue
        yield entry
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path), depth - 1, apart_from)


_EVERYTHING = """
import daedal
for name in daedal.algorithms():
    for n in (4, 12):
        daedal.maximize(lambda x: x.sum(axis=1), n=n, algorithm=name, seed=1, max_evaluations=200, target=99)
daedal.maximize("nk:n=12,k=2,seed=1", seed=1, max_evaluations=200)
daedal.maximize("hiff:n=16", seed=1, max_evaluations=200)
"""


def warm_up() -> None:
    """Have all kernels compiled, outside of any sandbox, where the machine code can be kept."""
    command = [sys.executable, "-W", "ignore", "-c", _EVERYTHING]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | {"NUMBA_CACHE_DIR": str(KERNELS)})

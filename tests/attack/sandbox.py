"""The place of the attacks: a folder and, for root on Linux, namespaces in which everything else is read-only."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
SOURCES = REPOSITORY / "src" / "daedal"
NODES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9)}
ISOLATED = "DAEDAL_ATTACK_ISOLATED"


def can_isolate() -> bool:
    """Return True if this process may have namespaces of its own."""
    if os.name != "posix" or os.geteuid() != 0 or shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], check=False).returncode == 0


def isolated(command: list[str]) -> list[str]:
    """Return a command that runs another one with mounts and processes of its own, all of which end with it."""
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", *command]


def environment(root: Path, *, isolates: bool) -> dict[str, str]:
    """Return the environment of attacks, in which daedal finds nothing of the user's."""
    drop = {"FORCE_COLOR", "NO_COLOR", "COLUMNS", "TERM", "NUMBA_CACHE_DIR"}
    kept = {name: value for name, value in os.environ.items() if name not in drop and not name.startswith("XDG_")}
    home = str(root / "home")
    own = {"HOME": home, "MPLCONFIGDIR": home, "TMPDIR": home, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
    return kept | own | ({ISOLATED: "1"} if isolates else {})


def furnish(root: Path) -> None:
    """Make the folder ready; in namespaces of our own, make everything outside of it read-only."""
    if has_devices():
        _mount("-t", "tmpfs", "attack", str(root))
        _replace_devices(root / "dev")
        shutil.copytree(SOURCES, root / "daedal")  # compiled kernels are next to the sources, and must be writable
        _mount("--bind", str(root / "daedal"), str(SOURCES))
        _close_the_rest(root)
    for name in ("cases", "home"):
        (root / name).mkdir()


def has_devices() -> bool:
    """Return True if nodes in /dev are copies, which may be put to the test."""
    return ISOLATED in os.environ


def _replace_devices(folder: Path) -> None:
    """Put copies of some devices in place of all, so that only a copy can be replaced."""
    folder.mkdir()
    for name in NODES:
        make_node(folder / name)
    for name, target in {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}.items():
        (folder / name).symlink_to(target)
    (folder / "shm").mkdir()
    (folder / "shm").chmod(0o1777)
    _mount("--bind", str(folder), "/dev")


def mend_devices() -> list[str]:
    """Restore our copies of devices that were replaced or overwritten, and return problems."""
    odd = []
    for name, numbers in NODES.items() if has_devices() else ():
        path = Path("/dev") / name
        if not path.is_char_device() or path.stat().st_rdev != os.makedev(*numbers):
            odd.append(f"replaced the device {path}")
            path.unlink(missing_ok=True)
            make_node(path)
    return odd


def make_node(path: Path) -> None:
    """Make a device node like the one of that name in /dev."""
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(*NODES[path.name]))
    path.chmod(0o666)


def _close_the_rest(root: Path) -> None:
    ours = {str(root), "/dev", str(SOURCES)}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        place = line.split()[4].encode().decode("unicode_escape")
        if place not in ours and not place.startswith(("/proc", "/dev/")):
            _mount("-o", "remount,bind,ro", place, must=place == "/")
    try:
        (REPOSITORY / ".attack").touch()
    except OSError:
        return
    raise OSError(f"{REPOSITORY} can be written to, although it should be read-only in the namespace")


def _mount(*words: str, must: bool = True) -> None:
    subprocess.run(["mount", *words], check=must, capture_output=True)


def repository_status() -> set[str]:
    """Return what Git says of the repository, to see whether anything has changed."""
    command = ["git", "-C", str(REPOSITORY), "status", "--porcelain", "--untracked-files=all"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return set(done.stdout.splitlines())


_EVERYTHING = """
import daedal
for name in daedal.algorithms():
    for n in (4, 12):
        daedal.maximize(lambda x: x.sum(axis=1), n=n, algorithm=name, seed=1, max_evaluations=200, target=99)
daedal.maximize("nk:n=12,k=2,seed=1", seed=1, max_evaluations=200)
daedal.maximize("hiff:n=16", seed=1, max_evaluations=200)
"""


def warm_up() -> None:
    """Compile all kernels outside of the sandbox, where the machine code can be kept."""
    kept = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    command = [sys.executable, "-W", "ignore", "-c", _EVERYTHING]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=kept)

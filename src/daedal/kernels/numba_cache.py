"""Keeps Numba's cache on disk honest.

Numba takes a compiled kernel from the cache while the kernel's own file is unchanged, and does not see that a function
it calls, in another file, has changed. So all kernels share one digest, and when it changes, all machine code is
discarded.
"""

from __future__ import annotations

import hashlib
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
STAMP = f"kernels.cpython-{sys.version_info.major}{sys.version_info.minor}.digest"
"""File beside the machine code that says of which sources it was made."""


def sources_digest(sources: Path = _HERE) -> str:
    """Give a digest of all sources in a folder, of the kernels unless told otherwise."""
    digest = hashlib.sha256()
    for source in sorted(sources.glob("*.py")):
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()


def discard_stale(kernel: Any, sources: Path = _HERE) -> None:
    """Empty the folder of compiled kernels, where the given one has its place, if they were made from other sources.

    Where the folder cannot be written to, nothing is kept there either, and nothing is done.
    """
    if kernel.stats.cache_path is None:
        return
    folder = Path(kernel.stats.cache_path)
    stamp = folder / STAMP
    digest = sources_digest(sources)
    with suppress(OSError):
        if stamp.exists() and stamp.read_bytes() == digest.encode():
            return
        tag = f".py{sys.version_info.major}{sys.version_info.minor}."
        for source in sources.glob("*.py"):
            for file in folder.glob(f"{source.stem}.*.nb[ic]"):
                if tag in file.name:
                    file.unlink(missing_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        stamp.write_bytes(digest.encode())


def is_compiled(kernel: Any) -> bool:
    """Whether a kernel is in memory, or in the cache on disk, made after its source."""
    if kernel.signatures:
        return True
    if kernel.stats.cache_path is None:
        return False
    tag = f"py{sys.version_info.major}{sys.version_info.minor}"
    source = Path(kernel.py_func.__code__.co_filename)
    found = Path(kernel.stats.cache_path).glob(f"{source.stem}.{kernel.py_func.__qualname__}-*.{tag}.nbi")
    return any(file.stat().st_mtime >= source.stat().st_mtime for file in found)

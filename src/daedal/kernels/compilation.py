"""How kernels are compiled, what is said when they have to be, and how Numba's cache on disk is kept honest.

Numba takes a compiled kernel from the cache while the kernel's own file is unchanged, and does not see that a function
it calls, in another file, has changed. So all kernels share one digest, and when it changes, all machine code is
discarded. Every module of kernels imports this one, so that stale machine code is gone before any is loaded.
"""

from __future__ import annotations

import hashlib
import logging
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba import njit

OPTIONS: dict[str, Any] = {"fastmath": {"contract", "nnan", "nsz"}, "error_model": "numpy", "cache": True}
"""How models' kernels are compiled: a * b + c may be one operation, 1/0 is inf, the machine code is kept on disk.

Sums are not reordered. Whether Numba puts a called kernel into its caller's code depends on what happens to be in the
cache; with free order of sums, so would the last digit of results, and the same seed would not give the same run.
"""

EXACT: dict[str, Any] = {"cache": True}
"""How kernels of problems are compiled: their arithmetic is that of Python."""

_HERE = Path(__file__).parent
_PYTHON = f"{sys.version_info.major}{sys.version_info.minor}"
STAMP = f"kernels.cpython-{_PYTHON}.digest"  # File beside the machine code that says of which sources it was made


def sources_digest(sources: Path = _HERE) -> str:
    """Give a digest of all sources in a folder, of the kernels unless told otherwise."""
    digest = hashlib.sha256()
    for source in sorted(sources.glob("*.py")):
        digest.update(source.name.encode() + source.read_bytes())
    return digest.hexdigest()


def discard_stale(kernel: Any, sources: Path = _HERE) -> None:
    """Empty the folder of compiled kernels, where the given one has its place, if they were made from other sources.

    Where the folder cannot be written to, nothing is kept there either, and nothing is done.
    """
    if kernel.stats.cache_path is None:
        return
    folder = Path(kernel.stats.cache_path)
    stamp, digest = folder / STAMP, sources_digest(sources).encode()
    with suppress(OSError):
        if stamp.exists() and stamp.read_bytes() == digest:
            return
        for source in sources.glob("*.py"):
            for file in folder.glob(f"{source.stem}.*.py{_PYTHON}.*nb[ic]"):
                file.unlink(missing_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        stamp.write_bytes(digest)


def is_compiled(kernel: Any) -> bool:
    """Whether a kernel is in memory, or in the cache on disk, made after its source."""
    if kernel.signatures or kernel.stats.cache_path is None:
        return bool(kernel.signatures)
    source = Path(kernel.py_func.__code__.co_filename)
    found = Path(kernel.stats.cache_path).glob(f"{source.stem}.{kernel.py_func.__qualname__}-*.py{_PYTHON}.nbi")
    return any(file.stat().st_mtime >= source.stat().st_mtime for file in found)


def announce(kernel: Any) -> None:
    """Say so if the kernel has to be compiled now; without other handlers, Python writes it to standard error."""
    if not is_compiled(kernel):
        logging.getLogger("daedal").warning("compiling kernels, once (some seconds) ...")


@njit(**OPTIONS)
def _nothing() -> None:
    """Show where Numba keeps the machine code of this folder."""


discard_stale(_nothing)

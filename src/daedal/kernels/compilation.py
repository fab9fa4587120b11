"""How kernels are compiled, what is said when they have to be, and how Numba's cache on disk is kept honest.

Numba takes a compiled kernel from the cache while the kernel's own file is unchanged, and does not see that a function
it calls, in another file, has changed. So all kernels share one digest, and when it changes, all machine code is
discarded, before any is loaded. Nothing is written before a kernel is used: to import something is no reason to.
"""

from __future__ import annotations

import hashlib
import logging
import multiprocessing
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache, NullCache

OPTIONS: dict[str, Any] = {"fastmath": {"contract", "nnan", "nsz"}, "error_model": "numpy"}
"""How models' kernels are compiled: a * b + c may be one operation, 1/0 is inf.

Sums are not reordered. Whether Numba puts a called kernel into its caller's code depends on what happens to be in the
cache; with free order of sums, so would the last digit of results, and the same seed would not give the same run.
"""

EXACT: dict[str, Any] = {}
"""How kernels of problems are compiled: their arithmetic is that of Python."""

_F = TypeVar("_F", bound=Callable[..., Any])

_HERE = Path(__file__).parent
_PYTHON = f"{sys.version_info.major}{sys.version_info.minor}"
STAMP = f"kernels.cpython-{_PYTHON}.digest"  # File beside the machine code that says of which sources it was made


def njit(**options: Any) -> Callable[[_F], _F]:
    """Let Numba compile a function when it is first called, and keep the machine code on disk where that is possible.

    Numba's own `cache=True` writes to the folder as soon as a function is defined, and raises where it cannot.
    """

    def decorate(function: _F) -> _F:
        kernel: Any = numba.njit(**options)(function)
        kernel._cache = MachineCode(function)
        return cast("_F", kernel)

    return decorate


class MachineCode(NullCache):
    """The machine code of one kernel on disk, looked for when it is first needed; what goes wrong there ends nothing.

    Parameters
    ----------
    function
        What is compiled.
    files
        Gives Numba's own cache of a function, or raises RuntimeError where there is no place for it.
    """

    def __init__(self, function: Callable[..., Any], files: Callable[[Any], Any] = FunctionCache) -> None:
        self._function = function
        self._files = files
        self._found: Any = None

    @property
    def cache_path(self) -> str | None:
        """The folder, or None where there is none that can be written to."""
        path: str | None = self._cache().cache_path
        return path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Give what was compiled for a signature; None where it has to be compiled."""
        found = self._cache()
        try:
            return found.load_overload(sig, target_context)
        except Exception:  # noqa: BLE001  a file that is damaged or cannot be read is as good as none
            with suppress(OSError):
                found.flush()
            return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Keep what was compiled for a signature."""
        try:
            self._cache().save_overload(sig, cres)
        except OSError as error:  # a full disk, a folder that went away or may not be written to any more
            _say_uncached(f" ({error.strerror or error})")

    def flush(self) -> None:
        """Forget what was compiled."""
        self._cache().flush()

    def _cache(self) -> Any:
        if self._found is None:
            try:
                found = self._files(self._function)
                _discard_once(found.cache_path)
            except (RuntimeError, OSError):
                found = NullCache()
                _say_uncached()
            self._found = found
        return self._found


_discard_once = cache(lambda folder: discard_stale(folder))


@cache
def _say_uncached(why: str = "") -> None:
    """Say, once, that machine code cannot be kept; the processes that this one starts need not say it again."""
    if multiprocessing.parent_process() is None:
        logging.getLogger("daedal").warning(
            "compiled kernels cannot be kept%s, so every process compiles them anew (some seconds); to end that, set "
            "NUMBA_CACHE_DIR to a folder that can be written to",
            why,
        )


def sources_digest(sources: Path = _HERE) -> str:
    """Give a digest of all sources in a folder, of the kernels unless told otherwise."""
    digest = hashlib.sha256()
    for source in sorted(sources.glob("*.py")):
        digest.update(source.name.encode() + source.read_bytes())
    return digest.hexdigest()


def discard_stale(folder: str | Path, sources: Path = _HERE) -> None:
    """Empty a folder of compiled kernels if they were made from other sources.

    Where the folder cannot be written to, nothing is kept there either, and nothing is done.
    """
    folder = Path(folder)
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
    if not is_compiled(kernel) and kernel.stats.cache_path is not None:  # without a cache, more was said already
        logging.getLogger("daedal").warning("compiling kernels for this search (first use; up to a minute) ...")

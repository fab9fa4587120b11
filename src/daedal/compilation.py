"""Compilation of kernels on their first call, the message about it, and the cache of machine code on disk.

Numba is slow to import and slower to compile. A function decorated with `njit` costs neither before it is called, so
kernels are defined in the files of the code that calls them.

Numba takes a compiled kernel from its cache if the kernel's own file is unchanged. It does not notice changes of other
files, whose functions the kernel calls. So the stamp of each cached kernel covers all files of daedal with kernels.
"""

from __future__ import annotations

import hashlib
import logging
import multiprocessing
from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property, update_wrapper
from pathlib import Path
from typing import Any, TypeVar, cast

OPTIONS: dict[str, Any] = {"fastmath": {"contract", "nnan", "nsz"}, "error_model": "numpy"}
"""Options for the kernels of models: a * b + c may be one operation, and 1/0 is inf.

Sums are not reordered. If they were, the last digit would depend on whether Numba inlines a called kernel, and so on
the state of the cache. The same seed would not always lead to the same run.
"""

EXACT: dict[str, Any] = {}
"""Options for the kernels of problems, whose arithmetic is that of Python."""

_F = TypeVar("_F", bound=Callable[..., Any])


def njit(**options: Any) -> Callable[[_F], _F]:
    """Return a decorator that compiles a function when it is first called, and caches its machine code if possible.

    Numba's own `cache=True` writes to disk as soon as a function is defined, and raises if it cannot.
    """

    def decorate(function: _F) -> _F:
        return cast("_F", Kernel(function, options))

    return decorate


class Kernel:
    """A function that Numba compiles. Other kernels may call it, or take it as an argument."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self._function = function
        self._options = options

    @cached_property
    def _compiled(self) -> Any:
        import numba

        kernel = numba.njit(**self._options)(self._function)
        kernel._cache = MachineCode(self._function)
        return kernel

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the kernel."""
        return self._compiled(*arguments, **named)

    def __getattr__(self, name: str) -> Any:  # Numba knows a kernel that is called by a kernel by its attributes
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._compiled, name)

    def __reduce__(self) -> str:
        return self._function.__qualname__


class MachineCode:
    """Cached machine code of one function, with the methods that Numba expects of a cache. It never fails."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    @cached_property
    def _files(self) -> Any:
        from numba.core import caching

        try:
            files: Any = caching.FunctionCache(self._function)  # type: ignore[no-untyped-call]
        except (RuntimeError, OSError):
            _warn_uncached()
            return caching.NullCache()
        index = files._cache_file
        index._source_stamp = (index._source_stamp, sources_digest())
        return files

    @property
    def cache_path(self) -> str | None:
        """The folder of the cache, or None if there is none."""
        path: str | None = self._files.cache_path
        return path

    @property
    def is_empty(self) -> bool:
        """True if the cache holds nothing that was compiled from the present sources."""
        try:
            return not self._files._cache_file._load_index()
        except Exception:  # noqa: BLE001  a damaged or unreadable file counts as missing
            return True

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the machine code for a signature, or None if it has to be compiled."""
        try:
            return self._files.load_overload(sig, target_context)
        except Exception:  # noqa: BLE001  a damaged or unreadable file counts as missing
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Write the machine code for a signature."""
        try:
            self._files.save_overload(sig, cres)
        except OSError as error:  # a full disk, or a folder that was removed or made read-only
            _warn_uncached(f" ({error.strerror or error})")

    def flush(self) -> None:
        """Discard all machine code of the kernel."""
        self._files.flush()


@cache
def _warn_uncached(why: str = "") -> None:
    """Log, once and only in the main process, that machine code cannot be cached."""
    if multiprocessing.parent_process() is None:
        logging.getLogger("daedal").warning(
            "compiled kernels cannot be cached%s, so each process compiles them again, which takes some seconds; to "
            "avoid this, set NUMBA_CACHE_DIR to a writable folder",
            why,
        )


@cache
def sources_digest(sources: Path = Path(__file__).parent) -> str:
    """Return a digest of the names and contents of all files with kernels, by default those of daedal."""
    digest = hashlib.sha256()
    for path in sorted(sources.rglob("*.py")):
        content = path.read_bytes()
        if b"daedal.compilation import" in content:
            digest.update(path.relative_to(sources).as_posix().encode() + content)
    return digest.hexdigest()


def is_compiled(kernel: Any) -> bool:
    """Return True if a kernel is compiled, in memory or in the cache on disk."""
    return bool(kernel.signatures) or not kernel._cache.is_empty


def announce(kernel: Any) -> None:
    """Log that the kernel has to be compiled now. Without other handlers, Python writes this to standard error."""
    if not is_compiled(kernel) and kernel._cache.cache_path is not None:  # otherwise `_warn_uncached` was called
        logging.getLogger("daedal").warning("compiling kernels for this search (first use; up to a minute) ...")

"""One BLAS thread: daedal is parallel over processes, and two threads on busy cores are slower than one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any


@cache
def _libraries(*, of_thread: bool) -> Sequence[Any]:
    """Return the BLAS libraries with a number for each thread (those that use OpenMP), or with one for the process."""
    import scipy.linalg  # noqa: F401  Numba calls SciPy's BLAS: it has to be loaded before it can be limited.
    from threadpoolctl import ThreadpoolController

    found = ThreadpoolController().select(user_api="blas").lib_controllers
    return [one for one in found if (getattr(one, "threading_layer", "") == "openmp") == of_thread]


@contextmanager
def held_to_one(libraries: Sequence[Any]) -> Iterator[None]:
    """Hold libraries, as threadpoolctl has them, to one thread while the context lasts."""
    before = [(library, library.get_num_threads()) for library in libraries]
    for library, _ in before:
        _set(library, 1)
    try:
        yield
    finally:
        for library, number in before:
            _set(library, number)


def _set(library: Any, number: int | None) -> None:
    """Set a number, whichever thread set the last one: some versions of threadpoolctl would leave it to that one."""
    release = getattr(library, "clear_controlling_thread", lambda **_: None)
    release(force=True)
    if number is not None:
        library.set_num_threads(number)
    release(force=True)


class Shared:
    """A change of the whole process: the first of several threads makes it, and the last one to leave takes it back.

    If each thread made and took it back for itself, the second would restore what the first had set.

    Parameters
    ----------
    change
        Returns the context manager that makes the change.
    """

    def __init__(self, change: Callable[[], AbstractContextManager[Any]]) -> None:
        self._change = change
        self._lock = threading.Lock()
        self._users = 0
        self._made: AbstractContextManager[Any] | None = None

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                made = self._change()
                made.__enter__()
                self._made = made
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._made is not None:
                made, self._made = self._made, None
                made.__exit__(None, None, None)


_PROCESS = Shared(lambda: held_to_one(_libraries(of_thread=False)))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread while the context lasts; then the caller's number is restored.

    Most libraries have one number for the whole process: there, the last of several runs in threads restores it.
    """
    with _PROCESS, held_to_one(_libraries(of_thread=True)):
        yield

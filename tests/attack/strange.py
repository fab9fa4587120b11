"""Objectives that nobody should write. The correct value is the number of ones; any other has to be refused.

The file is copied to the folder of each case, and loaded as a user's file.
"""

from __future__ import annotations

import array
import asyncio
import builtins
import collections
import ctypes
import decimal
import fractions
import gc
import itertools
import math
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import types
import warnings

import numpy as np

calls = 0
buffer = np.zeros(1000)


def ones(x):
    return x.sum(axis=1).astype(float)


class Lazy:
    """An object that becomes an array on request."""

    def __init__(self, **methods):
        self.__dict__.update(methods)

    def __array__(self, dtype=None, copy=None):
        return self.__dict__["array"]()


class Liar(list):
    def __len__(self):
        return 3


class Floats(float):
    pass


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no text")


class Two(Exception):
    def __init__(self, first, second):
        super().__init__("two")


class Stuck(Exception):
    def __reduce__(self):
        raise RuntimeError("cannot be sent")


class Base(BaseException):
    pass


def itself():
    listed = []
    listed.append(listed)
    return listed


def masked(x, hidden):
    return np.ma.array(np.where(hidden, 1e9, ones(x)), mask=hidden)


def some(x, value):
    """Return another value for rows that begin like the first one."""
    return np.where(x[:, 0] == x[0, 0], value, ones(x))


RETURNS = {
    "a_list": lambda x: ones(x).tolist(), "a_tuple": lambda x: tuple(ones(x)),
    "an_int_array": lambda x: x.sum(axis=1), "float32": lambda x: ones(x).astype(np.float32),
    "float16": lambda x: ones(x).astype(np.float16), "big_endian": lambda x: ones(x).astype(">f8"),
    "longdouble": lambda x: ones(x).astype(np.longdouble), "strided": lambda x: np.repeat(ones(x), 2)[::2],
    "backwards": lambda x: ones(x[::-1])[::-1], "read_only": lambda x: np.broadcast_to(ones(x), (1, len(x)))[0],
    "fractions_": lambda x: [fractions.Fraction(int(v)) for v in ones(x)],
    "decimals": lambda x: [decimal.Decimal(int(v)) for v in ones(x)],
    "an_object_array": lambda x: ones(x).astype(object), "array_array": lambda x: array.array("d", ones(x)),
    "a_memoryview": lambda x: memoryview(ones(x)), "a_deque": lambda x: collections.deque(ones(x)),
    "an_array_method": lambda x: Lazy(array=lambda: ones(x)), "a_column": lambda x: ones(x)[:, None],
    "a_row": lambda x: ones(x)[None, :], "a_matrix": lambda x: np.asmatrix(ones(x)),
    "three_axes": lambda x: ones(x)[:, None, None], "a_scalar": lambda x: 3.0, "no_axis": lambda x: np.array(3.0),
    "too_few": lambda x: ones(x)[:-1], "too_many": lambda x: np.append(ones(x), 1e9), "empty": lambda x: [],
    "none": lambda x: None, "nones": lambda x: [None] * len(x), "text": lambda x: "3",
    "texts": lambda x: ["3"] * len(x), "bytes_": lambda x: b"3" * len(x),
    "a_dict": lambda x: dict(enumerate(ones(x))), "a_set": lambda x: set(ones(x)),
    "a_generator": lambda x: (v for v in ones(x)), "a_map": lambda x: map(float, ones(x)),
    "endless": lambda x: itertools.count(), "a_range": lambda x: range(len(x) + 1), "a_function": lambda x: ones,
    "a_class": lambda x: Lazy, "not_implemented": lambda x: NotImplemented, "ellipsis_": lambda x: ...,
    "complex_": lambda x: ones(x) + 1e9j, "complex_zero": lambda x: ones(x) + 0j,
    "objects": lambda x: [object()] * len(x), "nested": lambda x: [[v, v] for v in ones(x)],
    "ragged": lambda x: [[1.0], [1.0, 2.0], *ones(x)], "itself_": lambda x: itself(), "liar": lambda x: Liar(ones(x)),
    "own_floats": lambda x: [Floats(v) for v in ones(x)], "huge_ints": lambda x: [10**400] * len(x),
    "dates": lambda x: ones(x).astype("datetime64[s]"), "spans": lambda x: ones(x).astype("timedelta64[s]"),
    "records": lambda x: np.zeros(len(x), dtype=[("a", float)]), "string_array": lambda x: ones(x).astype("U8"),
    "void_array": lambda x: ones(x).view("V8"), "masked_all": lambda x: masked(x, np.ones(len(x), dtype=bool)),
    "masked_some": lambda x: masked(x, x[:, 0] == 1), "masked_one": lambda x: masked(x, np.arange(len(x)) == 0),
    "masked_none": lambda x: np.ma.array(ones(x)),
    "masked_scalars": lambda x: [np.ma.masked if row[0] else float(row.sum()) for row in x],
    "nan_some": lambda x: some(x, math.nan), "nan_all": lambda x: some(x, math.nan) * math.nan,
    "infinite": lambda x: some(x, math.inf), "infeasible_some": lambda x: some(x, -math.inf),
    "infeasible_all": lambda x: np.full(len(x), -math.inf),
    "decimal_nan": lambda x: [decimal.Decimal("nan")] * len(x), "array_raises": lambda x: Lazy(array=lambda: 1 / 0),
    "array_text": lambda x: Lazy(array=lambda: np.array(["a"])), "coroutine": lambda x: asyncio.sleep(0),
    "the_input": lambda x: x, "a_part_of_the_input": lambda x: x.sum(axis=1, out=x[:, 0]), "a_module": lambda x: np,
    "an_exception": lambda x: ValueError("3"), "ctypes_array": lambda x: (ctypes.c_double * len(x))(*ones(x)),
    "a_namespace": lambda x: types.SimpleNamespace(shape=(len(x),)),
}  # fmt: skip


def error(kind, *words):
    def raises(x):
        raise kind(*words)

    return raises


def chained(x):
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    raise first


RAISES = {
    "an_exception_": error(Exception), "lines": error(RuntimeError, "one\ntwo\r\nthree"),
    "a_surrogate": error(RuntimeError, "file \udcff"), "an_escape": error(RuntimeError, "\x1b[31mred\x07"),
    "a_formula": error(RuntimeError, "=cmd|' /C calc'!A0"), "mute": error(Mute), "two": error(Two, 1, 2),
    "stuck": error(Stuck), "a_group": error(ExceptionGroup, "g", [ValueError("inner")]), "base": error(Base),
    "generator_exit": error(GeneratorExit), "interrupt": error(KeyboardInterrupt), "leaves_0": error(SystemExit, 0),
    "leaves_3": error(SystemExit, 3), "leaves_text": error(SystemExit, "bye"), "stops": error(StopIteration),
    "memory": error(MemoryError), "recursion": error(RecursionError), "os_error": error(OSError, 28, "No space left"),
    "times_out": error(TimeoutError), "cancelled": error(asyncio.CancelledError),
    "a_warning": error(UserWarning, "w"), "no_words": error(AssertionError),
    "a_long_text": error(RuntimeError, "x" * 10**6), "chained": chained, "broken_pipe": error(BrokenPipeError),
    "end_of_file": error(EOFError), "not_found": error(ImportError, "no"),
    "unicode_error": error(UnicodeDecodeError, "utf-8", b"\xff", 0, 1, "bad"),
}  # fmt: skip


def then(does):
    """Do something before returning the correct values."""

    def objective(x):
        before = ones(x)
        does(x)
        return before

    return objective


def recurse(depth=0):
    return recurse(depth + 1)


def refuses(*_, **__):
    raise OSError("patched")


def in_thread(work, *words):
    threading.Thread(target=work, args=words, daemon=True).start()


def reuse(x):
    buffer[: len(x)] = ones(x)
    return buffer[: len(x)]


def flaky(x):
    global calls
    calls += 1
    if calls % 2:
        raise RuntimeError("every other time")
    return ones(x)


def warned(x):
    warnings.simplefilter("error")
    np.seterr(all="raise")


def ignore_interrupts(x):
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def lose_folder(x):
    os.makedirs("gone", exist_ok=True)
    os.chdir("gone")
    os.rmdir(os.getcwd())


DOES = {
    "prints": then(lambda x: print("hello")), "writes_below": then(lambda x: os.write(1, b"hello\n")),
    "writes_error": then(lambda x: os.write(2, b"hello\n")),
    "echoes": then(lambda x: subprocess.run(["echo", "hello"], check=True)),
    "system": then(lambda x: os.system("echo hello")), "floods": then(lambda x: os.write(1, b"x" * 10**5)),
    "prints_surrogates": then(lambda x: print("\udcff")), "puts": then(lambda x: ctypes.CDLL(None).puts(b"hello")),
    "no_stdout": then(lambda x: setattr(sys, "stdout", None)),
    "odd_stdout": then(lambda x: setattr(sys, "stdout", object())),
    "closes_stdout": then(lambda x: sys.stdout.close()), "closes_1": then(lambda x: os.close(1)),
    "closes_0": then(lambda x: os.close(0)), "changes_folder": then(lambda x: os.chdir("/")),
    "loses_folder": then(lose_folder), "no_environment": then(lambda x: os.environ.clear()),
    "umask": then(lambda x: os.umask(0o777)), "ignores_interrupts": then(ignore_interrupts),
    "mutates": then(lambda x: x.fill(1)), "reshapes": then(lambda x: x.resize((1, 1), refcheck=False)),
    "locks_input": then(lambda x: x.setflags(write=False)), "recurses": then(lambda x: recurse()),
    "low_recursion": then(lambda x: sys.setrecursionlimit(60)), "warns_as_errors": then(warned),
    "warns": then(lambda x: warnings.warn("\x1b[31mred", stacklevel=1)),
    "seeds": then(lambda x: (random.seed(0), np.random.seed(0))), "no_garbage": then(lambda x: gc.disable()),
    "traces": then(lambda x: sys.settrace(lambda *_: None)), "no_cwd": then(lambda x: setattr(os, "getcwd", refuses)),
    "no_clock": then(lambda x: setattr(time, "time", lambda: -1.0)),
    "no_open": then(lambda x: setattr(builtins, "open", refuses)), "no_paths": then(lambda x: sys.path.clear()),
    "no_modules": then(lambda x: sys.modules.pop("daedal", None)),
    "a_thread": then(lambda x: in_thread(time.sleep, 271)),
    "a_busy_thread": then(lambda x: in_thread(lambda: [None for _ in range(10**6)])),
    "allocates": then(lambda x: np.ones(10**12)), "allocates_bytes": then(lambda x: bytearray(10**12)),
    "reuses": reuse, "flaky": flaky, "forks": then(lambda x: os.waitpid(os.fork() or os._exit(0), 0)),
    "numpy_print": then(lambda x: np.set_printoptions(threshold=0)),
    "decimal_context": then(lambda x: setattr(decimal.getcontext(), "prec", 1)),
}  # fmt: skip

LEAVES = {
    "leaves_child": then(lambda x: subprocess.Popen(["sleep", "271"])),
    "leaves_fork": then(lambda x: os.fork() or (time.sleep(271), os._exit(0))),
    "leaves_shell": then(lambda x: os.system("sleep 271 &")),
    "leaves_many": then(lambda x: [subprocess.Popen(["sleep", "271"]) for _ in range(3)]),
}  # fmt: skip
"""Objectives that leave processes, which must end with the workers that started them."""

ENDS = {
    "exits_0": lambda x: os._exit(0), "exits_7": lambda x: os._exit(7), "aborts": lambda x: os.abort(),
    "kills_itself": lambda x: os.kill(os.getpid(), signal.SIGKILL),
    "terminates_itself": lambda x: os.kill(os.getpid(), signal.SIGTERM), "crashes": lambda x: ctypes.string_at(0),
    "exits_some": then(lambda x: x[0, 0] and os._exit(3)), "closes_all": then(lambda x: os.closerange(3, 256)),
}  # fmt: skip
"""Objectives that end their process, for workers only."""

HANGS = {
    "sleeps": lambda x: time.sleep(271), "spins": lambda x: next(i for i in itertools.count() if i < 0),
    "holds_the_gil": lambda x: re.match(r"(a+)+$", "a" * 40 + "b"),
    "deadlocks": lambda x: [lock.acquire() for lock in [threading.Lock()] * 2],
    "waits_for_child": lambda x: subprocess.run(["sleep", "271"]),
    "ignores_the_end": then(lambda x: (signal.signal(signal.SIGTERM, signal.SIG_IGN), time.sleep(271))),
    "reads": lambda x: os.read(os.pipe()[0], 1),
}  # fmt: skip
"""Objectives that only a timeout can end."""

KINDS = {**RETURNS, **RAISES, **DOES, **LEAVES, **ENDS, **HANGS}
globals().update(KINDS)

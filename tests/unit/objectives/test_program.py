"""Objectives that are external programs."""

from __future__ import annotations

import copy
import errno
import gc
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from daedal.evaluation.caller import ObjectiveError
from daedal.objectives import process as running_program
from daedal.objectives.exchange import ProgramTimeout
from daedal.objectives.process import kill_programs
from daedal.objectives.program import Program

X = np.array([[1, 0, 1], [1, 1, 1], [0, 0, 0], [0, 1, 0], [1, 1, 0]], dtype=np.uint8)
ONES = [2.0, 3.0, 0.0, 1.0, 2.0]
MODES = pytest.mark.parametrize("persistent", [False, True], ids=["each batch", "persistent"])

COUNT = """\
import sys
for line in sys.stdin:
    print(line.count("1"), flush=True)
"""
READ_ALL_FIRST = """\
import sys
for line in sys.stdin.read().split():
    print(line.count("1"))
"""
READ_A_BATCH_FIRST = """\
import sys
while sys.stdin:
    print("\\n".join([str(sys.stdin.readline().count("1")) for row in range(20_000)]), flush=True)
"""
TALKATIVE = """\
import sys
for line in sys.stdin:
    sys.stderr.write("a word about this line " * 20 + "\\n")
    print(line.count("1"), flush=True)
"""

Script = Callable[..., str]


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Write a Python or shell script, and give the command that runs it."""

    def write(text: str, *, sh: bool = False, name: str = "score") -> str:
        path = tmp_path / name
        path.write_text(text)
        return f"sh '{path}'" if sh else f"'{sys.executable}' -IS '{path}'"

    return write


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Give the process groups that were started; after every test, none of them is left, not as a zombie either."""
    groups: list[int] = []
    start = running_program._start

    def record(command: str) -> subprocess.Popen[bytes]:
        process = start(command)
        groups.append(process.pid)
        return process

    monkeypatch.setattr(running_program, "_start", record)
    yield groups
    if running_program._live:
        gc.collect()
    assert not running_program._live
    for group in groups:
        assert is_gone(group)


def is_gone(group: int) -> bool:
    """Whether nothing is left of a process group, within a moment."""
    deadline = time.monotonic() + 5
    while _is_there(group):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _is_there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    if not Path("/proc/self/stat").exists():
        return True
    # A dead grandchild is for process 1 to bury, which in a container may never happen: only our own zombies count.
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, its_group = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(its_group) == group and (state != "Z" or int(parent) == os.getpid()):
            return True
    return False


def fails(program: Program, says: str, kind: type[ObjectiveError] = ObjectiveError) -> str:
    with program, pytest.raises(ObjectiveError, match=says) as caught:
        program(X)
    assert type(caught.value) is kind
    message = str(caught.value)
    assert "\n" not in message
    assert repr(program.command) in message
    return message


def big(rows: int = 20_000, n: int = 200) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 2, size=(rows, n))


# What goes in and out


@MODES
def test_one_line_a_row_in_and_one_number_a_line_out(script: Script, persistent: bool) -> None:
    with Program(script(COUNT), persistent=persistent) as program:
        fitness = program(X)
        assert fitness.tolist() == ONES
        assert fitness.dtype == np.float64
        assert program(X[:1]).tolist() == [2.0]


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int64, np.uint16, np.bool_])
def test_rows_may_be_integers_of_any_kind(script: Script, dtype: type) -> None:
    seen = 'import sys\nfor line in sys.stdin: print(int("1" + line, 2))'
    assert Program(script(seen))(X.astype(dtype)).tolist() == [13, 15, 8, 10, 14]


def test_rows_need_not_be_contiguous(script: Script) -> None:
    program = Program(script("import sys\nfor line in sys.stdin: print(int('1' + line, 2))"))
    assert program(np.asfortranarray(X)).tolist() == [13, 15, 8, 10, 14]
    assert program(X[::-2, ::-1]).tolist() == [11, 8, 13]


@MODES
def test_no_rows_start_nothing(persistent: bool, started: list[int]) -> None:
    fitness = Program("false", persistent=persistent)(X[:0])
    assert fitness.shape == (0,)
    assert fitness.dtype == np.float64
    assert not started


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (X[0], r"expected an integer array of shape \(rows, n\) for a program, got shape=\(3,\), dtype=uint8"),
        (X.astype(float), r"got shape=\(5, 3\), dtype=float64"),
        (X.tolist(), "got list"),
        (X + 1, "expected rows of 0 and 1 for a program, got numbers from 1 to 2"),
        (X.astype(int) - 1, "got numbers from -1 to 0"),
    ],
)
def test_other_rows_are_refused(rows: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Program("true")(rows)


@pytest.mark.parametrize(
    ("printed", "numbers"),
    [
        (r"1\n2\n3\n4\n5\n", [1, 2, 3, 4, 5]),
        (r"1\n2\n3\n4\n5", [1, 2, 3, 4, 5]),
        (r"1\n2\n3\n4\n5\n\n\n", [1, 2, 3, 4, 5]),
        (r"1\r\n2\r\n3\r\n4\r\n5\r\n\r\n", [1, 2, 3, 4, 5]),
        (r" 1 \n\t2\n+3\n4.\n.5\n", [1, 2, 3, 4, 0.5]),
        (
            r"-1.5\n1e3\n1E-3\n-0\n123456789012345678901234567890\n",
            [-1.5, 1000, 0.001, 0, 123456789012345678901234567890.0],
        ),
        (r"inf\n-inf\nInfinity\n-INF\n1e999\n", [np.inf, -np.inf, np.inf, -np.inf, np.inf]),
    ],
)
def test_what_counts_as_numbers(printed: str, numbers: list[float]) -> None:
    assert Program(f"printf '{printed}'")(X).tolist() == numbers


@MODES
def test_nan_is_for_the_caller_to_judge(script: Script, persistent: bool) -> None:
    command = script("while read -r row; do case $row in 0*) echo nan;; *) echo -nan;; esac; done", sh=True)
    with Program(command, persistent=persistent) as program:
        assert np.isnan(program(X)).all()


def test_blank_lines_after_the_answers_of_a_persistent_program_are_fine(script: Script) -> None:
    command = script("i=0; while read -r row; do echo 7; i=$((i + 1)); [ $i = 5 ] && printf '\\n\\r\\n'; done", sh=True)
    with Program(command, persistent=True) as program:
        assert program(X).tolist() == [7] * 5
        time.sleep(0.1)
        assert program(X[:2]).tolist() == [7] * 2


# Commands


def test_a_command_is_split_as_in_a_shell_but_has_none(script: Script) -> None:
    seen = "import sys\nprint(len(sys.argv) - 1, sys.argv[1:], file=sys.stderr)\nsys.exit(9)"
    message = fails(Program(script(seen) + " --fast 'two words' $HOME *"), "code 9")
    assert "4 ['--fast', 'two words', '$HOME', '*']" in message


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("", "expected a command, a program with its arguments, got ''"),
        ("  ", "expected a command"),
        ("./score 'open", 'expected a command as in a shell, got "./score \'open": No closing quotation'),
        (
            "no-such-program-here -x",
            "got 'no-such-program-here' in the command .*: it is not in PATH; .* as in ./score",
        ),
        ("./no-such-file", "got './no-such-file' in the .*: there is no such file; .* relative to the current folder"),
        ("plain", "it is not in PATH; for the file in this folder say ./plain"),
        ("./plain", r"it may not be executed; say chmod \+x ./plain, or put its interpreter in front"),
        ("./folder", "there is no such file"),
    ],
)
def test_what_cannot_be_run_is_refused_at_once(
    command: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ValueError, match=says) as caught:
        Program(command)
    assert not isinstance(caught.value, ObjectiveError)


@pytest.mark.parametrize("command", [None, ["./score", "--fast"], Path("score")])
def test_a_command_is_text(command: Any) -> None:
    with pytest.raises(TypeError, match=r"expected a command as text, as in .*, got "):
        Program(command)


def test_a_relative_path_is_relative_to_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "score"
    path.write_text("#!/bin/sh\nwhile read -r row; do echo 7; done\n")
    path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    program = Program("./score")
    assert program(X).tolist() == [7.0] * 5
    monkeypatch.chdir(tmp_path.parent)
    with pytest.raises(ValueError, match="there is no such file"):
        program(X)


@pytest.mark.parametrize("first", ["#!/no/such/interpreter", "\x7fELF of another machine"])
def test_what_turns_out_not_to_run_is_a_bad_command_too(tmp_path: Path, first: str) -> None:
    path = tmp_path / "score"
    path.write_text(first + "\n")
    path.chmod(0o755)
    with pytest.raises(ValueError, match=r"expected to start the program .*score'?.*; does its first line") as caught:
        Program(str(path))(X)
    assert not isinstance(caught.value, ObjectiveError)


def test_a_full_machine_is_a_failure_that_may_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any, **kwargs: Any) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", full)
    fails(Program("true"), "expected to start the program 'true', but: Resource temporarily unavailable")


@pytest.mark.parametrize("timeout", [0, -1.0, float("nan"), float("inf")])
def test_a_timeout_is_a_positive_number(timeout: float) -> None:
    with pytest.raises(ValueError, match="expected a positive number of seconds, or None, as timeout, got timeout="):
        Program("true", timeout=timeout)


# Failures


@MODES
@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("exit 3", "exited with code 3"),
        ("kill -SEGV $$", "was ended by SIGSEGV"),
        ("echo oh no >&2; exit 3", "exited with code 3; .*; its standard error ends with 'oh no'$"),
        ("printf 'one\\ntwo\\n\\n  three  3\\n\\n' >&2; exit 3", "; its standard error ends with 'two / three 3'$"),
        ("printf 'a\\377b\\n' >&2; exit 3", "ends with 'a\ufffdb'$"),
        ("echo 1; echo 2; exit 3", "exited with code 3"),
    ],
)
def test_an_end_with_a_code_or_by_a_signal(script: Script, persistent: bool, body: str, says: str) -> None:
    message = fails(Program(script(body, sh=True), persistent=persistent), says)
    if persistent:
        came = "2" if "echo 2" in body else "nothing"
        assert f"expected 5 numbers from the program {script(body, sh=True)!r}, got {came} before it " in message
    else:
        assert message.startswith("expected exit code 0 from the program ")


def test_an_end_with_a_code_after_all_answers_is_a_failure_without_persistence(script: Script) -> None:
    fails(Program(script(COUNT + "sys.exit(4)")), "expected exit code 0 from the program .*, but it exited with code 4")


def test_long_last_words_are_shortened(script: Script) -> None:
    message = fails(Program(script(f"echo {'word ' * 100}end >&2; exit 1", sh=True)), r"ends with '\.\.\..* word end'$")
    assert len(message.partition("ends with ")[2]) == 202


@MODES
@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("echo abc", "expected one number a line from the program .*, but line 1 is 'abc'; print nothing else to"),
        ("echo 1; echo 2; echo 3 4", "line 3 is '3 4'"),
        ("echo 1; echo; echo 3; echo 4; echo 5", "line 2 is ''"),
        ("echo 1_000", "line 1 is '1_000'"),
        ("echo 3,5", "line 1 is '3,5'"),
        ("echo 0x10", "line 1 is '0x10'"),
        ("printf '\u0663\\n'", "line 1 is '\u0663'"),
        (
            "printf '1\\n\\377\\376\\n'",
            r"expected numbers as UTF-8 text, one a line, from the .*line 2 is b'\\xff\\xfe'",
        ),
        ("printf '1\\0002\\n'", r"line 1 is '1\\x002'"),
        ("printf '%0300d x\\n' 1", r"line 1 is '0{56}\.\.\.;"),
    ],
)
def test_what_is_not_a_number(script: Script, persistent: bool, body: str, says: str) -> None:
    keep_on = "\nwhile read -r row; do :; done" if persistent else ""
    fails(Program(script(body + keep_on, sh=True), persistent=persistent), says)


@MODES
def test_what_is_not_a_number_comes_with_what_is_on_standard_error(script: Script, persistent: bool) -> None:
    command = script("echo 'look here' >&2; echo abc; while read -r row; do :; done", sh=True)
    fails(Program(command, persistent=persistent), "line 1 is 'abc'; .*; its standard error ends with 'look here'$")


@pytest.mark.parametrize(
    ("printed", "got"),
    [
        ("", "nothing"),
        (r"\n\n\n\n\n", "nothing"),
        (r"1\n2\n3\n", "3"),
        (r"1\n2\n3", "3"),
        (r"1\n2\n3\n\n\n", "3"),
        (r"1\n2\n3\n4\n5\n6\n", "6"),
        (r"1\n2\n3\n4\n5\n6", "6"),
        (r"1\n2\n3\n4\n5\n\n6\n7\n", "7"),
    ],
)
def test_too_few_and_too_many_lines(printed: str, got: str) -> None:
    says = f"expected 5 numbers from the program .*, got {got}; print one line for each line that it reads"
    fails(Program(f"printf '{printed}'"), says)


def test_one_number_is_a_number() -> None:
    with pytest.raises(ObjectiveError, match="expected 1 number from the program 'true', got nothing"):
        Program("true")(X[:1])


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("exit 0", "got nothing before it exited with code 0; a persistent program has to answer line after line"),
        ("read -r row; echo 1; read -r row; echo 2", "expected 5 numbers .*, got 2 before it exited with code 0"),
        ("echo 1; echo 2; printf 12", "got 2 before it exited with code 0"),  # 12 may be half of 123
        ("echo 1; exec >&-; sleep 60", "got 1 before it closed its standard output"),
    ],
)
def test_a_persistent_program_that_leaves_too_early(script: Script, body: str, says: str) -> None:
    fails(Program(script(body, sh=True), persistent=True), says)


def test_a_persistent_program_that_closes_its_input(script: Script) -> None:
    program = Program(script("echo 1; exec <&-; sleep 60", sh=True), persistent=True)
    with pytest.raises(ObjectiveError, match="got 1 before it closed its standard input"):
        program(big())


def test_a_persistent_program_with_an_answer_too_many(script: Script) -> None:
    program = Program(script("while read -r row; do printf '1\\n2\\n'; done", sh=True), persistent=True)
    fails(program, "expected 5 numbers from the program .*, got at least (?:[6-9]|10); print one line for each line")
    fails(Program("printf '1\\n2\\n3\\n4\\n5\\n6'", persistent=True), "got 6; print one line")


def test_an_answer_that_comes_too_late_to_be_one(script: Script, started: list[int]) -> None:
    body = "while read -r row; do echo 1; sleep 0.1; echo and a word; done"
    program = Program(script(body, sh=True), persistent=True)
    assert program(X[:1]).tolist() == [1.0]
    time.sleep(0.5)
    fails(program, "expected one number for each line from the program .*, but 'and a word' came after the last one")
    assert program(X[:1]).tolist() == [1.0]  # by another process
    assert len(started) == 2
    program.close()


@MODES
def test_a_flood_of_numbers_is_stopped(persistent: bool) -> None:
    got = "at least" if persistent else r"at least \d{4,}"
    fails(Program("yes 1", persistent=persistent), f"expected 5 numbers from the program 'yes 1', got {got}")


@MODES
def test_a_line_without_an_end_is_stopped(persistent: bool) -> None:
    fails(Program("cat /dev/zero", persistent=persistent), r"line 1 is '\\x00.*\.\.\.;")


# No deadlock


@MODES
@pytest.mark.parametrize("text", [COUNT, READ_ALL_FIRST, TALKATIVE], ids=["line by line", "all first", "talkative"])
def test_a_large_batch(script: Script, persistent: bool, text: str) -> None:
    if text is READ_ALL_FIRST and persistent:
        text = READ_A_BATCH_FIRST
    x = big()
    with Program(script(text), persistent=persistent, timeout=60) as program:
        assert np.array_equal(program(x), x.sum(axis=1))
        if persistent:
            assert np.array_equal(program(x), x.sum(axis=1))


def test_many_small_batches_of_a_persistent_program(script: Script, started: list[int]) -> None:
    with Program(script(TALKATIVE), persistent=True) as program:
        x = big(500, 30)
        assert [program(x[i : i + 1])[0] for i in range(500)] == x.sum(axis=1).tolist()
    assert len(started) == 1


def test_a_program_that_never_reads(script: Script) -> None:
    x = big()
    answers = Program(script("for i in range(20000): print(i)"))(x)
    assert np.array_equal(answers, np.arange(20000))


def test_a_program_that_answers_before_it_reads(script: Script) -> None:
    command = script(
        "import sys\nprint('1.25 ' * 1 + '\\n1.25' * 19999, flush=True)\nassert len(sys.stdin.read()) == 20000 * 201"
    )
    assert np.array_equal(Program(command)(big()), np.full(20000, 1.25))


def test_megabytes_of_answers(script: Script) -> None:
    command = script("import sys\nfor line in sys.stdin: print(' ' * 1000 + '7' + ' ' * 1000)")
    assert np.array_equal(Program(command)(big(3000, 10)), np.full(3000, 7.0))


@MODES
def test_standard_error_is_kept_to_its_end(script: Script, persistent: bool, capfd: pytest.CaptureFixture[str]) -> None:
    talk = "import sys\nfor i in range(50000): print('a line of words', i, file=sys.stderr)\n"
    with Program(script(talk + COUNT), persistent=persistent) as program:
        assert program(X).tolist() == ONES
        for running in program._idle:
            assert len(running.stderr_end) <= 65_536
    fails(
        Program(script(talk + "sys.exit(2)"), persistent=persistent), "'a line of words 49998 / a line of words 49999'$"
    )
    assert capfd.readouterr() == ("", "")


def test_a_program_that_closes_its_output_long_before_it_ends(script: Script) -> None:
    command = script("echo 1; exec >&- 2>&-; sleep 0.3; cat; exit 5", sh=True)
    with pytest.raises(ObjectiveError, match="exited with code 5"):
        Program(command)(X[:1])


def test_who_is_left_in_the_background_is_not_waited_for(script: Script) -> None:
    begin = time.monotonic()
    assert Program(script("sleep 60 & cat >/dev/null; echo 1; exit 0", sh=True))(X[:1]).tolist() == [1.0]
    assert time.monotonic() - begin < 30


def test_what_is_printed_on_behalf_of_a_program_that_ended_counts(script: Script) -> None:
    assert Program(script("(sleep 0.2; echo 1) & cat >/dev/null", sh=True))(X[:1]).tolist() == [1.0]


# Time


def test_a_batch_may_take_its_rows_times_the_timeout(script: Script) -> None:
    slow = script("sleep 0.8; while read -r row; do echo 1; done", sh=True)
    assert Program(slow, timeout=1.0)(X).tolist() == [1.0] * 5
    message = fails(Program(slow, timeout=0.05), "longer timeout", ProgramTimeout)
    assert (
        f"expected 5 numbers from the program {slow!r} within 0.25 s, 0.05 s for each, got 0 of 5; does it" in message
    )


def test_a_persistent_program_may_take_the_timeout_for_each_answer(script: Script) -> None:
    slow = script("while read -r row; do sleep 0.4; echo 1; done", sh=True)
    with Program(slow, persistent=True, timeout=1.5) as program:
        assert program(X).tolist() == [1.0] * 5
    says = r"expected an answer from the program .* within 0.2 s, got 0 of 5; does it flush its standard output after"
    fails(Program(slow, persistent=True, timeout=0.2), says, ProgramTimeout)


def test_a_persistent_program_that_does_not_flush(script: Script) -> None:
    program = Program(script(COUNT.replace(", flush=True", "")), persistent=True, timeout=0.5)
    fails(program, "got 0 of 5; does it flush", ProgramTimeout)


@MODES
@pytest.mark.parametrize("body", ["cat >/dev/null; sleep 60", "exec >&- 2>&-; sleep 60", "sleep 60", "yes >&2"])
def test_a_program_that_hangs(script: Script, persistent: bool, body: str) -> None:
    kind = ObjectiveError if persistent and ">&-" in body else ProgramTimeout
    fails(Program(script(body, sh=True), persistent=persistent, timeout=0.1), "expected .* got ", kind)


@MODES
def test_grandchildren_are_killed_too(script: Script, persistent: bool, tmp_path: Path) -> None:
    noted = tmp_path / "pid"
    body = f"sh -c 'trap \"\" HUP TERM INT; echo $$ >{noted}; while :; do sleep 0.1; done' & wait"
    fails(Program(script(body, sh=True), persistent=persistent, timeout=0.2), "expected", ProgramTimeout)
    pid = int(noted.read_text())
    deadline = time.monotonic() + 5
    while (stat := state(pid)) not in ("gone", "Z"):
        assert time.monotonic() < deadline, stat
        time.sleep(0.01)


def state(pid: int) -> str:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return "gone"
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] if stat.exists() else "there"
    except OSError:
        return "gone"


# The life of a persistent program


def test_one_process_is_kept(script: Script, started: list[int]) -> None:
    with Program(
        script("import os, sys\nfor line in sys.stdin: print(os.getpid(), flush=True)"), persistent=True
    ) as program:
        assert set(program(X)) == set(program(X)) == {float(started[0])}
    assert len(started) == 1


def test_without_persistence_each_batch_has_its_process(script: Script, started: list[int]) -> None:
    program = Program(script(COUNT))
    program(X)
    program(X)
    assert len(started) == 2


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_one_that_died_since_the_last_batch_is_started_anew(
    script: Script, started: list[int], how: signal.Signals
) -> None:
    with Program(script(COUNT), persistent=True) as program:
        program(X)
        os.kill(started[0], how)
        while _state_of_child(started[0]) != "ended":
            time.sleep(0.01)
        assert program(X).tolist() == ONES
    assert len(started) == 2


def _state_of_child(pid: int) -> str:
    if sys.platform == "darwin":
        time.sleep(0.2)
        return "ended"
    return "ended" if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) else "runs"


def test_one_that_ends_after_each_batch_is_started_anew(script: Script, started: list[int]) -> None:
    """Its end may come while the next batch is on its way."""
    with Program(script("import sys\nprint(sys.stdin.readline().count('1'), flush=True)"), persistent=True) as program:
        assert [program(X[i : i + 1])[0] for i in range(5)] == ONES
    assert len(started) == 5


def test_one_that_dies_in_the_second_batch_has_failed(script: Script, started: list[int]) -> None:
    body = "i=0; while read -r row; do i=$((i + 1)); [ $i = 6 ] && exit 3; echo 1; done"
    program = Program(script(body, sh=True), persistent=True)
    program(X)
    fails(program, "got nothing before it exited with code 3")
    assert program(X).tolist() == [1.0] * 5
    assert len(started) == 2
    program.close()


def test_close_ends_the_input_and_waits(script: Script, tmp_path: Path, started: list[int]) -> None:
    farewell = tmp_path / "farewell"
    program = Program(script(COUNT + f"open({str(farewell)!r}, 'w').close()"), persistent=True)
    program(X)
    program.close()
    assert farewell.exists()
    assert is_gone(started[0])
    program.close()
    assert program(X).tolist() == ONES  # it can be used again
    program.close()


def test_close_kills_what_stays(script: Script, started: list[int]) -> None:
    program = Program(script("trap '' TERM HUP; echo 1; cat >/dev/null; sleep 60", sh=True), persistent=True)
    program(X[:1])
    begin = time.monotonic()
    program.close()
    assert 0.9 < time.monotonic() - begin < 30
    assert is_gone(started[0])


def test_close_before_any_use_and_without_persistence() -> None:
    Program("true", persistent=True).close()
    Program("true").close()


def test_with_the_last_reference_the_process_goes(script: Script, started: list[int]) -> None:
    program = Program(script(COUNT), persistent=True)
    program(X)
    assert _is_there(started[0])
    del program
    gc.collect()
    assert not _is_there(started[0])


def test_threads_do_not_disturb_each_other(script: Script) -> None:
    x = big(400, 20)
    answers: dict[int, list[float]] = {}
    with Program(script(COUNT), persistent=True) as program:

        def work(first: int) -> None:
            answers[first] = [float(program(x[i : i + 1])[0]) for i in range(first, 400, 4)]

        threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for first in range(4):
        assert answers[first] == x[first::4].sum(axis=1).tolist()


# Copies


def duplicates(program: Program) -> Iterator[Program]:
    yield pickle.loads(pickle.dumps(program))
    yield copy.deepcopy(program)
    yield copy.copy(program)


@MODES
def test_copies_have_a_process_of_their_own(script: Script, persistent: bool, started: list[int]) -> None:
    with Program(script(COUNT), persistent=persistent, timeout=60) as program:
        program(X)
        for other in duplicates(program):
            assert other == program
            assert hash(other) == hash(program)
            assert (other.command, other.persistent, other.timeout) == (program.command, persistent, 60)
            with other:
                assert other(X).tolist() == ONES
        assert program(X).tolist() == ONES
    assert len(started) == (4 if persistent else 5)


def test_how_it_reads() -> None:
    assert repr(Program("sh -c :")) == "Program(command='sh -c :', persistent=False, timeout=None)"
    assert Program("true") != Program("true", persistent=True)


def test_a_pickle_holds_the_command_only(script: Script) -> None:
    with Program(script(COUNT), persistent=True) as program:
        program(X)
        assert len(pickle.dumps(program)) < 400


def test_a_pickle_may_come_to_a_place_without_the_program(tmp_path: Path) -> None:
    path = tmp_path / "score"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    data = pickle.dumps(Program(str(path)))
    path.unlink()
    program = pickle.loads(data)
    with pytest.raises(ValueError, match="there is no such file"):
        program(X)


# Interrupts


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Have Ctrl-C raise KeyboardInterrupt, even where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def soon(action: Callable[[], object]) -> threading.Timer:
    timer = threading.Timer(0.3, action)
    timer.start()
    return timer


@MODES
@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_kills_the_program(persistent: bool, started: list[int]) -> None:
    timer = soon(lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        Program("sleep 60", persistent=persistent)(X)
    timer.join()
    assert is_gone(started[0])
    assert not running_program._live


@MODES
@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_in_the_middle_of_a_start_leaves_nothing(
    persistent: bool, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    start = running_program._start

    def interrupted(command: str) -> subprocess.Popen[bytes]:
        process = start(command)
        signal.raise_signal(signal.SIGINT)
        return process

    monkeypatch.setattr(running_program, "_start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Program("sleep 60", persistent=persistent)(X)
    assert is_gone(started[0])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_handlers_of_others_are_left_as_they_were(script: Script) -> None:
    def handler(number: int, frame: FrameType | None) -> None: ...

    before = signal.signal(signal.SIGTERM, handler)
    try:
        Program(script(COUNT))(X)
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, before)


@MODES
def test_another_thread_may_kill_all_programs(persistent: bool, started: list[int]) -> None:
    timer = soon(kill_programs)
    fails(Program("sleep 60", persistent=persistent), "was ended by SIGKILL")
    timer.join()
    assert is_gone(started[0])


def test_a_signal_handler_may_kill_all_programs(started: list[int]) -> None:
    before = signal.signal(signal.SIGUSR1, lambda number, frame: kill_programs())
    try:
        timer = soon(lambda: os.kill(os.getpid(), signal.SIGUSR1))
        fails(Program("sleep 60"), "was ended by SIGKILL")
        timer.join()
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_programs_that_wait_are_killed_as_well(script: Script, started: list[int]) -> None:
    with Program(script(COUNT), persistent=True) as one, Program(script(COUNT), persistent=True) as other:
        one(X)
        other(X)
        kill_programs()
        kill_programs()
        assert one(X).tolist() == ONES
        assert len(started) == 3


def test_there_may_be_nothing_to_kill() -> None:
    kill_programs()


LEAVES = """\
import sys
import numpy as np
from daedal.objectives import program as external
from daedal.objectives import process as running_program
kept = external.Program(sys.argv[1], persistent=True)
kept(np.array([[1, 0]]))
print(*[running.process.pid for running in running_program._live], flush=True)
"""

FORKS = """\
import os, sys
import numpy as np
from daedal.objectives import program as external
from daedal.objectives import process as running_program
x = np.array([[1, 0], [1, 1]])
kept = external.Program(sys.argv[1], persistent=True)
assert kept(x).tolist() == [1, 2]
pid = os.fork()
if not pid:
    running_program.kill_programs()  # has none yet
    ok = kept(x).tolist() == [1, 2]
    kept.close()
    os._exit(0 if ok else 1)
assert os.waitpid(pid, 0)[1] == 0
mine = [running.process.pid for running in running_program._live]
assert kept(x).tolist() == [1, 2]
assert mine == [running.process.pid for running in running_program._live]
kept.close()
"""


def test_at_exit_no_program_is_left(script: Script) -> None:
    command = script("trap '' TERM HUP; while read -r row; do echo 1; done; sleep 60", sh=True)
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", LEAVES, command], capture_output=True, text=True, timeout=300, check=True
    )
    assert "ResourceWarning" not in done.stderr
    assert is_gone(int(done.stdout))
    assert time.monotonic() - begin < 50


def test_a_forked_process_leaves_its_parents_programs_alone(script: Script) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKS, script(COUNT)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr


# The page


def test_the_page_shows_the_examples_as_they_are() -> None:
    root = Path(__file__).parents[3]
    page = (root / "docs" / "external.md").read_text()
    blocks = re.findall(r"^```(?:sh|awk|c)\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    examples = sorted((root / "examples" / "external").iterdir())
    assert [path.name for path in examples] == ["count_ones.sh", "leading_ones.c", "trap.awk"]
    for path in examples:
        assert path.read_text() in blocks, path.name
        assert f"examples/external/{path.name}" in page

"""External programs as objectives."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import re
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from process_helpers import MARK, has_ended, marked, wait_until

from daedal.evaluation.answers import ObjectiveError
from daedal.objectives.program import Program

X = np.array([[1, 0, 1], [1, 1, 1], [0, 0, 0], [0, 1, 0], [1, 1, 0]], dtype=np.uint8)
ONES = [2.0, 3.0, 0.0, 1.0, 2.0]
MODES = pytest.mark.parametrize("persistent", [False, True], ids=["each batch", "persistent"])
FOR_EVER = "sleep 1000"  # killed long before

COUNT = """\
import sys
for line in sys.stdin:
    print(line.count("1"), flush=True)
"""


class Scripts:
    """Programs for a test, in the current folder; each notes its start there."""

    def python(self, text: str) -> str:
        note = "import os\nwith open('started', 'a') as log: print(os.getpid(), file=log)\n"
        Path("score.py").write_text(note + text)
        return f"'{sys.executable}' -IS score.py"

    def sh(self, text: str) -> str:
        Path("score.sh").write_text("echo $$ >>started\n" + text)
        return "sh score.sh"

    def started(self) -> list[int]:
        """Give the processes that were started, in their order."""
        return [int(pid) for pid in Path("started").read_text().split()] if Path("started").exists() else []


@pytest.fixture(autouse=True)
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripts]:
    """Write programs; after every test nothing of them is left, no child of theirs and no zombie."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)
    monkeypatch.chdir(tmp_path)
    scripts = Scripts()
    yield scripts
    monkeypatch.chdir(tmp_path)
    gc.collect()
    wait_until(lambda: not marked(mark), "a process is left")
    for pid in scripts.started():
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Have Ctrl-C raise KeyboardInterrupt, even where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


def fails(program: Program, says: str, rows: np.ndarray = X) -> None:
    with program, pytest.raises(ObjectiveError, match=says) as caught:
        program(rows)
    assert "\n" not in str(caught.value)
    assert repr(program.command) in str(caught.value)


def big(rows: int = 20_000, n: int = 200) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 2, size=(rows, n))


# What goes in and out


@MODES
def test_one_line_per_row_in_and_one_number_per_line_out(scripts: Scripts, persistent: bool) -> None:
    """In one process for all batches, or in one for each."""
    with Program(scripts.python(COUNT), persistent=persistent) as program:
        assert program(X[:0]).shape == (0,)
        assert not scripts.started()  # for nothing
        fitness = program(X)
        assert fitness.tolist() == ONES
        assert fitness.dtype == np.float64
        assert program(X[:1]).tolist() == [2.0]
    assert len(scripts.started()) == (1 if persistent else 2)


@pytest.mark.parametrize(
    ("rows", "got"),
    [
        (X[0], r"shape=\(3,\)"),
        (X + 0.5, r"shape=\(5, 3\)"),
        (X + 1, r"shape=\(5, 3\)"),
    ],
)
def test_other_rows_are_refused(rows: Any, got: str) -> None:
    with pytest.raises(ValueError, match=f"got .*{got}"):
        Program("true")(rows)


@pytest.mark.parametrize(
    ("printed", "numbers"),
    [
        (r"1\n2\n3\n4\n5\n", [1, 2, 3, 4, 5]),
        (r"1\n2\n3\n4\n5", [1, 2, 3, 4, 5]),
        (r"1\n2\n3\n4\n5\n\n\n", [1, 2, 3, 4, 5]),
        (r"1\r\n2\r\n3\r\n4\r\n5\r\n\r\n", [1, 2, 3, 4, 5]),
        (r" 1 \n\t2\n+3\n4.\n.5\n", [1, 2, 3, 4, 0.5]),
        (r"-1.5\n1e3\n1E-3\n-0\n12345678901234567890\n", [-1.5, 1000, 0.001, 0, 12345678901234567890.0]),
        (r"inf\n-INF\nInfinity\n-inf\n1e999\n", [np.inf, -np.inf, np.inf, -np.inf, np.inf]),
        (r"nan\n-nan\nNaN\n1\n2\n", [np.nan, np.nan, np.nan, 1, 2]),  # for the caller to judge
    ],
)
def test_what_counts_as_numbers(printed: str, numbers: list[float]) -> None:
    np.testing.assert_array_equal(Program(f"printf '{printed}'")(X), numbers)


# Commands


def test_a_command_is_split_as_in_a_shell_but_has_none(scripts: Scripts) -> None:
    command = scripts.python("import sys\nprint(sys.argv[1:], file=sys.stderr)\nsys.exit(9)")
    fails(Program(command + " --fast 'two words' $HOME *"), re.escape("['--fast', 'two words', '$HOME', '*']"))


@pytest.mark.parametrize(
    ("command", "kind", "says"),
    [
        ("", ValueError, "''"),
        ("./score 'open", ValueError, "No closing quotation"),
        ("no-such-program -x", ValueError, "'no-such-program' .* not in PATH"),
        ("./no-such-file", ValueError, "'./no-such-file' .* no such file"),
        ("plain", ValueError, "./plain"),
        ("./plain", ValueError, r"chmod \+x ./plain"),
        (None, TypeError, "None"),
        (Path("score"), TypeError, "score"),
    ],
)
def test_what_cannot_be_run_is_refused_at_once(command: Any, kind: type[Exception], says: str, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    (tmp_path / "folder").mkdir()
    with pytest.raises(kind, match=says) as caught:
        Program(command)
    assert not isinstance(caught.value, ObjectiveError)


def test_a_relative_path_is_relative_to_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "score").write_text("#!/bin/sh\nwhile read -r row; do echo 7; done\n")
    (tmp_path / "score").chmod(0o755)
    program = Program("./score")
    assert program(X).tolist() == [7.0] * 5
    monkeypatch.chdir(tmp_path.parent)
    for elsewhere in (program, pickle.loads(pickle.dumps(program))):  # which may come to a place without the program
        with pytest.raises(ValueError, match="no such file"):
            elsewhere(X)


@pytest.mark.parametrize("first", ["#!/no/such/interpreter", "\x7fELF of another machine"])
def test_what_turns_out_not_to_run_is_a_bad_command_too(tmp_path: Path, first: str) -> None:
    (tmp_path / "score").write_text(first + "\n")
    (tmp_path / "score").chmod(0o755)
    with pytest.raises(ValueError, match=r"'./score'.*first line") as caught:
        Program("./score")(X)
    assert not isinstance(caught.value, ObjectiveError)


# Failures

EACH_BATCH, PERSISTENT, BOTH = (False,), (True,), (False, True)
FAILURES = [
    (BOTH, "exit 3", "code 3"),
    (BOTH, "kill -SEGV $$", "SIGSEGV"),
    (BOTH, "printf 'one\\ntwo\\n\\n  three  3\\n\\n' >&2; exit 3", "code 3.* ends with 'two / three 3'$"),
    (BOTH, "printf 'a\\377b\\n' >&2; exit 3", "'a\ufffdb'$"),
    (EACH_BATCH, "while read -r row; do echo 1; done; exit 4", "exited with code 4"),
    # What is not a number
    (BOTH, "echo 'look here' >&2; echo abc", "line 1 is 'abc'.* 'look here'$"),
    (BOTH, "echo 1; echo 2; echo 3 4", "line 3 is '3 4'"),
    (BOTH, "echo 1_000", "'1_000'"),
    (BOTH, "printf '1\\n\\377\\376\\n'", r"line 2 is b'\\xff\\xfe'"),
    (BOTH, "printf '%0300d x\\n' 1", r"'0{56}\.\.\.;"),
    (PERSISTENT, f"echo abc; {FOR_EVER}", "line 1 is 'abc'"),  # at once
    # Too few and too many
    (BOTH, "yes 1", r"printed at least \d+ for 5 candidates;"),
    (BOTH, "cat /dev/zero", r"line 1 is '\\x00.*\.\.\.;"),
    (EACH_BATCH, "", "printed nothing for 5 candidates;"),
    (EACH_BATCH, r"printf '1\n2\n3\n\n\n'", "printed 3 for"),
    (EACH_BATCH, r"printf '1\n2\n3\n4\n5\n\n7\n8\n'", "printed 8 for"),
    (BOTH, r"printf '1\n2\n3\n4\n5\n6'", "printed 6 for"),
    (PERSISTENT, "while read -r row; do printf '1\\n2\\n'; done", r"printed at least ([6-9]|10) for"),
    (PERSISTENT, "", "exited with code 0 after 0 of 5"),
    (PERSISTENT, "echo 1; echo 2; printf 12", "exited with code 0 after 2 of 5"),  # 12 may be half of 123
    (PERSISTENT, f"echo 1; exec >&-; {FOR_EVER}", "closed its standard output after 1 of 5"),
    (PERSISTENT, f"echo 1; exec <&-; {FOR_EVER}", "closed its standard input after 1 of 20,000"),
]


@pytest.mark.parametrize(("persistent", "body", "says"), [(mode, *rest) for modes, *rest in FAILURES for mode in modes])
def test_failures(scripts: Scripts, persistent: bool, body: str, says: str) -> None:
    rows = big() if "<&-" in body else X  # more than a pipe takes
    fails(Program(scripts.sh(body), persistent=persistent), says, rows=rows)


@pytest.mark.parametrize("late", ["\\n\\r\\n", "and a word"])
def test_what_a_persistent_program_prints_after_its_answers(scripts: Scripts, late: str, tmp_path: Path) -> None:
    """Blank lines do no harm; anything else would be taken for the next answer."""
    body = 'while read -r row; do echo 1; while [ ! -e go ]; do sleep 0.01; done; printf "$1"; touch said; done'
    program = Program(scripts.sh(body) + f" '{late}'", persistent=True)
    assert program(X[:1]).tolist() == [1.0]
    (tmp_path / "go").touch()
    wait_until((tmp_path / "said").exists)
    (tmp_path / "go").unlink()
    if late == "and a word":
        fails(program, "printed 'and a word' after its last answer")
    assert program(X[:1]).tolist() == [1.0]
    assert len(scripts.started()) == (2 if late == "and a word" else 1)
    program.close()


# No deadlock

BIG_BATCHES = {
    "line by line": COUNT,
    "talkative": COUNT + "    sys.stderr.write('a word about this line ' * 20 + '\\n')",
    "long answers": COUNT.replace("print(", "print(' ' * 500, ").replace(", flush", ", ' ' * 500, flush"),
}


@MODES
@pytest.mark.parametrize("kind", BIG_BATCHES)
def test_a_large_batch(scripts: Scripts, kind: str, persistent: bool) -> None:
    x = big()
    with Program(scripts.python(BIG_BATCHES[kind]), persistent=persistent) as program:
        for _ in range(2 if persistent else 1):
            assert np.array_equal(program(x), x.sum(axis=1))


@pytest.mark.parametrize("then", ["", "import sys; assert len(sys.stdin.read()) == 20000 * 201"])
def test_a_program_may_answer_before_it_reads(scripts: Scripts, then: str) -> None:
    program = Program(scripts.python(f"for i in range(20000): print(i, flush=i == 19999)\n{then}"))
    assert np.array_equal(program(big()), np.arange(20_000))


def test_a_program_that_closes_its_output_long_before_it_ends(scripts: Scripts) -> None:
    body = "echo 1; exec >&- 2>&-;"
    fails(Program(scripts.sh(f"{body} sleep 0.3; cat; exit 5")), "code 5", rows=X[:1])
    fails(Program(scripts.sh(f"{body} {FOR_EVER}"), timeout=0.1), "of 5")


def test_a_process_in_the_background_is_not_waited_for_long(scripts: Scripts) -> None:
    """What it prints on behalf of a program that has ended counts."""
    assert Program(scripts.sh(f"{FOR_EVER} & cat >/dev/null; echo 1; exit 0"))(X[:1]).tolist() == [1.0]
    command = scripts.sh("(while kill -0 $$ 2>/dev/null; do :; done; echo 1) & cat >/dev/null")
    assert Program(command)(X[:1]).tolist() == [1.0]


# Time


def test_a_batch_may_take_its_rows_times_the_timeout(scripts: Scripts) -> None:
    slow = scripts.sh("sleep 0.1; while read -r row; do echo 1; done")
    assert Program(slow, timeout=0.02)(np.tile(X, (1000, 1))).tolist() == [1.0] * 5000


@MODES
@pytest.mark.parametrize("body", [f"cat >/dev/null; {FOR_EVER}", FOR_EVER, "yes >&2"])
def test_a_program_that_hangs(scripts: Scripts, persistent: bool, body: str) -> None:
    says = "0 of 5 answers within 0.1 s; .*flush" if persistent else "0 of 5 answers within 0.5 s, 0.1 s for each"
    fails(Program(scripts.sh(body), persistent=persistent, timeout=0.1), says)


# The life of a persistent program


def test_one_that_died_since_the_last_batch_is_started_again(scripts: Scripts) -> None:
    with Program(scripts.python(COUNT), persistent=True) as program:
        program(X)
        (pid,) = scripts.started()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: has_ended(pid))
        assert program(X).tolist() == ONES
    assert len(scripts.started()) == 2


def test_one_that_dies_in_the_second_batch_has_failed(scripts: Scripts) -> None:
    body = "i=0; while read -r row; do i=$((i + 1)); [ $i = 6 ] && exit 3; echo 1; done"
    program = Program(scripts.sh(body), persistent=True)
    program(X)
    fails(program, "exited with code 3 after 0 of 5")
    assert program(X).tolist() == [1.0] * 5
    assert len(scripts.started()) == 2
    program.close()


def test_close_ends_the_input_waits_and_kills_what_stays(scripts: Scripts) -> None:
    program = Program(scripts.sh("read -r row; echo 1; cat; touch farewell"), persistent=True)
    program(X[:1])
    program.close()
    assert Path("farewell").exists()
    program = Program(scripts.sh(f"trap '' TERM HUP; echo 1; cat >/dev/null; {FOR_EVER}"), persistent=True)
    program.close()  # nothing yet
    for _ in range(2):  # it can be used again
        assert program(X[:1]).tolist() == [1.0]
        program.close()
        program.close()
        assert has_ended(scripts.started()[-1])


def test_with_the_last_reference_the_process_goes(scripts: Scripts) -> None:
    program = Program(scripts.python(COUNT), persistent=True)
    program(X)
    del program
    gc.collect()
    assert has_ended(scripts.started()[0])


def test_many_small_batches_from_several_threads(scripts: Scripts) -> None:
    x = big(400, 20)
    talkative = BIG_BATCHES["talkative"].replace("* 20", "* 80")  # more than a pipe takes, in time
    with Program(scripts.python(talkative), persistent=True) as program, ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda row: program(row[None])[0], x)) == x.sum(axis=1).tolist()
    assert len(scripts.started()) <= 4


def test_copies_have_a_process_of_their_own(scripts: Scripts) -> None:
    with Program(scripts.python(COUNT), persistent=True, timeout=60) as program:
        program(X)
        assert len(pickle.dumps(program)) < 400  # the command, and no more
        for other in (pickle.loads(pickle.dumps(program)), copy.deepcopy(program), copy.copy(program)):
            assert (other, hash(other), repr(other)) == (program, hash(program), repr(program))
            with other:
                assert other(X).tolist() == ONES
    assert len(scripts.started()) == 4
    assert repr(program) == f"Program(command={program.command!r}, persistent=True, timeout=60)"


# Interrupts


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_kills_the_program_with_its_children(scripts: Scripts, tmp_path: Path) -> None:
    stubborn = f"sh -c 'trap \"\" HUP TERM INT; touch there; {FOR_EVER}' &"
    command = scripts.sh(f"{stubborn} while [ ! -e there ]; do sleep 0.01; done; kill -INT {os.getpid()}; wait")
    with pytest.raises(KeyboardInterrupt):
        Program(command)(X)
    assert (tmp_path / "there").exists()


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_in_the_middle_of_a_start_leaves_nothing() -> None:
    pressed: list[int] = []

    def press(frame: FrameType, event: str, _: object) -> None:
        if event == "return" and frame.f_code is subprocess.Popen.__init__.__code__:
            pressed.append(1)
            signal.raise_signal(signal.SIGINT)

    sys.setprofile(press)
    try:
        with pytest.raises(KeyboardInterrupt):
            Program(FOR_EVER)(X)
    finally:
        sys.setprofile(None)
    assert pressed == [1, 1]  # when the program was started, and its guard


FORKS = """\
import os, sys
import numpy as np
from daedal.objectives.program import Program
x = np.array([[1, 0]])
kept = Program(sys.argv[1], persistent=True)
(pid,) = kept(x)
child = os.fork()
if not child:
    own = kept(x)[0] != pid
    kept.close()
    os._exit(0 if own else 1)
assert os.waitpid(child, 0)[1] == 0
assert kept(x)[0] == pid
"""


def test_a_process_ends_its_own_programs_and_no_others(scripts: Scripts) -> None:
    """A forked process leaves those of its parent alone; at its exit, the parent leaves none behind."""
    command = scripts.python(COUNT.replace('line.count("1")', "os.getpid()") + "import time; time.sleep(1000)")
    ways = ["-X", "dev", "-W", "ignore::DeprecationWarning", "-c"]
    done = subprocess.run([sys.executable, *ways, FORKS, command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")  # no ResourceWarning either
    assert len(scripts.started()) == 2
    assert all(map(has_ended, scripts.started()))


KILLED = """\
import sys
import numpy as np
from daedal.objectives.program import Program
Program(sys.argv[1])(np.array([[1, 0]]))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_program_ends_with_the_process_that_started_it(scripts: Scripts, number: signal.Signals) -> None:
    """Neither the program nor its child, which ignore requests to end, is left after the test."""
    command = scripts.sh(f"trap '' TERM HUP; {FOR_EVER} & read -r row; touch there; wait; {FOR_EVER}")
    with subprocess.Popen([sys.executable, "-c", KILLED, command]) as owner:
        wait_until(Path("there").exists)
        owner.send_signal(number)
    assert owner.returncode == -number

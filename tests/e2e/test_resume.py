"""Runs that survive: killed, interrupted, damaged, and resumed, as processes of their own and from the command line.

Run as a program, this file kills the runs of all algorithms, see `main_of_the_killer`.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import mmap
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import daedal
from daedal.cli import main
from daedal.evaluation import serial as here
from daedal.run.checkpoint import load
from daedal.storage.atomic import previous_path

# Killed with SIGKILL, five times, at random moments

KILLS = 5
N = 20
ROW_SECONDS = 0.0005
MOMENTS = ["in a call", "in the callback", "while it writes", "from outside", "from outside"]
RUN: dict[str, Any] = {"popsize": 40, "seed": 11, "max_generations": 20}


class Killed:
    """An objective, and all else in a run where the process may be killed: from the n-th call on, at some moment."""

    def __init__(self, moment: str = "", at: int = 0, which: int = 0) -> None:
        self.moment = moment
        self.at = at
        self.writes = which
        self.counted = mmap.mmap(-1, 8)  # shared with the parent, who kills from outside

    @property
    def calls(self) -> int:
        return int.from_bytes(self.counted[:8], "little")

    def __call__(self, row: Any) -> float:
        self.counted[:8] = (self.calls + 1).to_bytes(8, "little")
        self._now("in a call")
        time.sleep(ROW_SECONDS)
        return float(row @ np.sqrt(np.arange(1, N + 1)) % 5)

    def callback(self, record: daedal.Generation) -> None:
        self._now("in the callback")

    def watch_writing(self) -> None:
        """Come between any two steps of a checkpoint's way to the disk."""
        for name in ("fsync", "link", "replace"):
            setattr(os, name, self._watched(getattr(os, name)))

    def _watched(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*words: Any, **named: Any) -> Any:
            if self.calls >= self.at:
                self.writes -= 1
            if self.writes < 0:
                self._now("while it writes")
            return real(*words, **named)

        return step

    def _now(self, moment: str) -> None:
        if moment == self.moment and self.calls >= self.at:
            os.kill(os.getpid(), signal.SIGKILL)


def told(result: daedal.Result) -> dict[str, Any]:
    """Give all that a result tells, but for the clocks, as JSON has it."""
    fields = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    fields["x"], fields["stop"] = result.x.tolist(), result.stop.value
    fields["failures"] = [dataclasses.astuple(failure) for failure in result.failures]
    fields["history"] = [
        {**dataclasses.asdict(dataclasses.replace(one, info=dict(one.info))), "cpu_seconds": None}
        for one in result.history
    ]
    kept: dict[str, Any] = json.loads(json.dumps({k: v for k, v in fields.items() if "seconds" not in k}))
    return kept


def run_or_resume(name: str, path: Path, killed: Killed, every: str | int) -> daedal.Result:
    killed.watch_writing()
    if path.exists():
        return daedal.resume(path, killed, every=every, callback=killed.callback)
    return daedal.maximize(
        killed,
        N,
        vectorized=False,
        algorithm=name,
        checkpoint=path,
        every=every,
        callback=killed.callback,
        **RUN,
    )


def in_a_child(work: Callable[[], object], kill_when: Callable[[], bool] | None = None) -> int:
    """Do something in a fork of this process, which has all kernels ready; give how it ended."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001  it must not go on as the parent does
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if kill_when is not None:
        while not kill_when():
            time.sleep(ROW_SECONDS)
        os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def evaluated(path: Path) -> int:
    """Give the rows that a checkpoint has."""
    if not path.exists():
        return 0
    state = load(path)
    return state.inner("evaluator").whole("carried_out") + len(state.arrays.get("evaluator/partial", ()))


def killed_and_resumed(name: str, path: Path, rng: random.Random) -> dict[str, Any]:
    """Run an algorithm to its end in as many processes as it takes."""
    expected = daedal.maximize(Killed(), N, vectorized=False, algorithm=name, **RUN)
    last = int(0.8 * expected.carried_out)  # so that no run is over before it was killed
    moments = rng.sample(MOMENTS, KILLS)
    endings, stood = [], []
    for moment, at in zip(moments, sorted(rng.sample(range(1, last), KILLS)), strict=True):
        stood.append(evaluated(path))
        left = max(0, at - stood[-1])
        killed = Killed(moment, left, rng.randrange(8))
        every = rng.choice([1, "0.01s", "0.03s"])
        work = functools.partial(run_or_resume, name, path, killed, every)
        reached = functools.partial(lambda killed: killed.calls >= killed.at, killed)
        endings.append(in_a_child(work, reached if moment == "from outside" else None))
    answer = path.with_suffix(".json")
    endings.append(in_a_child(lambda: answer.write_text(json.dumps(told(run_or_resume(name, path, Killed(), 3))))))
    return {"expected": told(expected), "endings": endings, "stood": stood, "came": json.loads(answer.read_text())}


def main_of_the_killer(folder: Path) -> None:
    """Kill and resume each algorithm; print all that came of it as JSON."""
    here.SECONDS_BETWEEN_NOTES = 0.003  # rows are quick here: note them down as often as slow ones
    rng = random.Random(2024)
    report = {name: killed_and_resumed(name, folder / f"{name}.ckpt", rng) for name in sorted(daedal.algorithms())}
    print(json.dumps(report))


@pytest.fixture(scope="module")
def survivors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One process with all kernels ready, whose forks are killed: no time is lost with starting Python."""
    command = [sys.executable, __file__, str(tmp_path_factory.mktemp("killed"))]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.parametrize("name", sorted(daedal.algorithms()))
def test_killed_five_times_it_ends_as_if_nothing_had_happened(name: str, survivors: dict[str, Any]) -> None:
    report = survivors[name]
    assert report["endings"] == [signal.SIGKILL] * KILLS + [0]
    assert report["came"] == report["expected"]
    assert report["expected"]["carried_out"] > 50


def test_the_kills_came_at_all_stages(survivors: dict[str, Any]) -> None:
    """Before there was a checkpoint, and after many; so what was gone through again differs, too."""
    for report in survivors.values():
        assert report["stood"][0] == 0  # where each begins
    stages = [len(set(report["stood"])) for report in survivors.values()]
    assert sum(stages) > 3 * len(survivors)
    shares = [max(report["stood"]) / report["expected"]["carried_out"] for report in survivors.values()]
    assert max(shares) > 0.5


# The command line


def environment() -> dict[str, str]:
    """Give this environment without what makes Rich colour or narrow its output."""
    drop = {"FORCE_COLOR", "NO_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "TERM"}
    return {name: value for name, value in os.environ.items() if name not in drop}


HANGS = 120  # seconds
SCORE = f"""
import pathlib
import time

here = pathlib.Path(__file__).parent
calls = 0


def f(row):
    global calls
    calls += 1
    if calls == 25 and (here / "block").exists():
        (here / "marker").touch()
        time.sleep({HANGS})
    return float((row * range(len(row))).sum() % 7)


def batch(x):
    return [f(row) for row in x]
"""


@pytest.fixture
def score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a function that can be told to hang in its 25th call."""
    monkeypatch.setattr(sys, "path", sys.path.copy())  # a loaded file's folder is put there
    (tmp_path / "score.py").write_text(SCORE)
    return tmp_path / "score.py"


@dataclasses.dataclass
class Outcome:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        """The one JSON object on standard output, without clocks."""
        assert self.out.count("\n") == 1, self.err
        report: dict[str, Any] = json.loads(self.out)
        for record in report.get("history", []):
            assert record.pop("cpu_seconds") >= 0
        assert report.pop("seconds") >= 0
        assert report.pop("cpu_seconds") >= 0
        return report


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """The command line in this process, which is as good where no signals are sent."""

    def run(*words: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["daedal", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Outcome(code, printed.out, printed.err)

    return run


HALF = ("-a", "umda", "--popsize", 20, "--seed", 3, "--max-generations", 5)
BY_ROW = ("--n", 10, "--by-row", *HALF)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let a child have Ctrl-C, also where this process was started with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def signalled(score: Path, *words: object, signals: list[int], pause: float = 0.1) -> Outcome:
    """Start a command, send signals to its process group while its objective hangs; give how it ended.

    The objective hangs for longer than the end is waited for: who waits for it fails.
    """
    (score.parent / "block").touch()
    command = [sys.executable, "-m", "daedal", *map(str, words)]
    with subprocess.Popen(
        command,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            deadline = time.monotonic() + 60
            while not (score.parent / "marker").exists():
                assert process.poll() is None, process.stderr.read() if process.stderr else ""
                assert time.monotonic() < deadline
                time.sleep(0.01)
            time.sleep(0.05)
            for number in signals:
                os.killpg(process.pid, number)
                time.sleep(pause)
            out, err = process.communicate(timeout=HANGS / 2)
        finally:
            process.kill()
    (score.parent / "block").unlink()
    return Outcome(process.returncode, out, err)


def test_killed_on_the_command_line_and_resumed(score: Path, cli: Callable[..., Outcome], tmp_path: Path) -> None:
    expected = cli("solve", f"{score}:f", *BY_ROW, "--json", "--history").report
    path = tmp_path / "run.ckpt"
    words = (f"{score}:f", *BY_ROW, "--checkpoint", path, "--every", 1)
    outcome = signalled(score, "solve", *words, signals=[signal.SIGKILL])
    assert outcome.code == -signal.SIGKILL
    command = [sys.executable, "-m", "daedal", "resume", str(path), f"{score}:f", "--json", "--history"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=120, check=False)
    assert Outcome(done.returncode, done.stdout, done.stderr).report == expected


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_once_ends_with_the_best_so_far_and_resume_with_all(
    score: Path, cli: Callable[..., Outcome], tmp_path: Path, workers: int
) -> None:
    """Pressed in a terminal it goes to all processes of the group, the workers too."""
    expected = cli("solve", f"{score}:f", *BY_ROW, "--json", "--history").report
    path = tmp_path / "run.ckpt"
    words = (f"{score}:f", *BY_ROW, "--checkpoint", path, "--json", "--workers", workers)
    outcome = signalled(score, "solve", *words, signals=[signal.SIGINT])
    assert outcome.code == 130
    assert "Traceback" not in outcome.err
    assert f"daedal resume {path}" in " ".join(outcome.err.split())
    assert outcome.report["stop"] == "interrupted"
    resumed = cli("resume", path, f"{score}:f", "--json", "--history", "--workers", 1)
    assert resumed.code == 0
    assert resumed.report == expected


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("function", ["f", "batch"])
def test_ctrl_c_twice_ends_at_once(score: Path, cli: Callable[..., Outcome], tmp_path: Path, function: str) -> None:
    by_row = ["--by-row"] if function == "f" else []
    words = (f"{score}:{function}", "--n", 10, *by_row, *HALF)
    path = tmp_path / "run.ckpt"
    outcome = signalled(
        score, "solve", *words, "--checkpoint", path, "--every", 1, signals=[signal.SIGINT] * 2, pause=0.03
    )
    assert outcome.code in (130, -signal.SIGINT)
    expected = cli("solve", *words, "--json", "--history").report
    assert cli("resume", path, f"{score}:{function}", "--json", "--history").report == expected


def half(path: Path, objective: Any = "trap:k=5,n=20", **how: Any) -> None:
    """Write the checkpoint of a run that was stopped in the middle."""
    run: dict[str, Any] = {"algorithm": "umda", "popsize": 20, "seed": 3, "max_generations": 5, **how}
    daedal.maximize(objective, checkpoint=path, callback=lambda record: record.generation == 2, **run)


@pytest.mark.parametrize("algorithm", ["dae", "pbil", "hboa"])
def test_a_named_problem_needs_no_more_than_the_file(
    algorithm: str, cli: Callable[..., Outcome], tmp_path: Path
) -> None:
    words = ("--popsize", 40, "--seed", 3, "--max-generations", 5, "--set", "selection=truncation")
    expected = cli("solve", "trap:k=5,n=20", "-a", algorithm, *words, "--json", "--history").report
    half(tmp_path / "run.ckpt", algorithm=algorithm, popsize=40, selection="truncation")
    outcome = cli("resume", tmp_path / "run.ckpt", "--json", "--history", "--every", "5")
    assert outcome.code == 0
    assert outcome.report == expected
    assert list(outcome.report) == list(expected)
    assert outcome.report["problem"] == "trap:k=5,n=20"
    again = cli("resume", tmp_path / "run.ckpt", "--json", "--history")
    assert again.report == expected  # it is over, and says so again


def test_a_function_is_named_again(score: Path, cli: Callable[..., Outcome], tmp_path: Path) -> None:
    words = ("--minimize", "--on-error", "worst", "--max-evaluations", 55, "--target", -1)
    expected = cli("solve", f"{score}:f", *BY_ROW, *words, "--json", "--history").report
    path = tmp_path / "run.ckpt"
    assert cli("solve", f"{score}:f", *BY_ROW, *words, "--checkpoint", path, "--every", 2).code == 0
    os.replace(previous_path(path), path)
    refused = cli("resume", path, "--json")
    assert refused.code == 2
    assert refused.out == ""
    assert refused.err.count("\n") == 1
    assert "a checkpoint holds no code" in refused.err
    assert f"daedal resume {path} PROBLEM" in refused.err
    assert cli("resume", path, f"{score}:f", "--json", "--history").report == expected


@pytest.mark.parametrize("persistent", [False, True])
def test_a_program_is_named_again(persistent: bool, cli: Callable[..., Outcome], tmp_path: Path) -> None:
    program = """cmd:sh -c 'while read -r row; do zeros=${row%%1*}; echo ${#zeros}; done'"""
    kept = ["--persistent"] if persistent else []
    words = (program, "--n", 10, *HALF, *kept)
    expected = cli("solve", *words, "--json", "--history").report
    path = tmp_path / "run.ckpt"
    assert cli("solve", *words, "--checkpoint", path, "--every", 2).code == 0
    os.replace(previous_path(path), path)
    refused = cli("resume", path)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "PROBLEM" in refused.err
    assert cli("resume", path, program, *kept, "--json", "--history").report == expected


def test_with_other_workers(cli: Callable[..., Outcome], tmp_path: Path) -> None:
    expected = cli("solve", "trap:k=5,n=20", *HALF, "--json", "--history").report
    half(tmp_path / "run.ckpt")
    assert cli("resume", tmp_path / "run.ckpt", "--workers", 2, "--json", "--history").report == expected


def damaged(path: Path, way: str) -> None:
    data = bytearray(path.read_bytes())
    if way == "cut":
        del data[len(data) // 2 :]
    elif way == "a bit":
        data[len(data) // 2] ^= 1
    elif way == "newer":
        data[8] += 1
    elif way == "empty":
        data.clear()
    elif way == "text":
        data[:] = b"dear reader,\nthis is no checkpoint\n"
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("way", "says"),
    [
        ("cut", "is cut short"),
        ("a bit", "is damaged (its checksum does not match)"),
        ("newer", "was written by a newer daedal"),
        ("empty", "is not a checkpoint of daedal: it is empty"),
        ("text", "is not a checkpoint of daedal"),
    ],
)
def test_a_damaged_file_is_one_line_and_code_2(
    way: str, says: str, cli: Callable[..., Outcome], tmp_path: Path
) -> None:
    path = tmp_path / "run.ckpt"
    half(path)
    damaged(path, way)
    before = path.read_bytes()
    for words in ((), ("trap:k=5,n=20",), ("--json",)):
        outcome = cli("resume", path, *words)
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err.startswith(f"error: {path} {says}")
        assert outcome.err.count("\n") == 1
    assert path.read_bytes() == before


def test_a_damaged_file_as_a_process(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    half(path)
    half(path)  # so that there is one before it
    damaged(path, "a bit")
    command = [sys.executable, "-m", "daedal", "resume", str(path)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        f"error: {path} is damaged (its checksum does not match); the one before it is at {previous_path(path)}\n"
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("no.ckpt",), "expected a checkpoint at no.ckpt, found nothing there"),
        ((".",), "found something that is not a file"),
        (("run.ckpt", "score.py:f"), "expected the objective of the run, 'trap:k=5,n=20', got"),
        (("run.ckpt", "onemax:n=20"), "expected the objective of the run, 'trap:k=5,n=20', got 'onemax:n=20'"),
        (("run.ckpt", "trap:k=5,n=25"), "expected n=25"),
        (("run.ckpt", "nobody"), "unknown problem 'nobody'"),
        (("run.ckpt", "--every", "0"), "expected every to be a time"),
        (("run.ckpt", "--workers", "0"), "expected workers to be a whole number of at least 1"),
        (("run.ckpt", "--persistent", "trap:k=5,n=20"), "expected --persistent with a program"),
    ],
)
def test_bad_input_is_one_line_and_code_2(
    words: tuple[str, ...],
    says: str,
    score: Path,
    cli: Callable[..., Outcome],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    half(tmp_path / "run.ckpt")
    before = (tmp_path / "run.ckpt").read_bytes()
    outcome = cli("resume", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert says in outcome.err
    assert outcome.err.count("\n") == 1
    assert (tmp_path / "run.ckpt").read_bytes() == before


def test_the_result_for_eyes(cli: Callable[..., Outcome], tmp_path: Path) -> None:
    half(tmp_path / "run.ckpt")
    outcome = cli("resume", tmp_path / "run.ckpt")
    assert (outcome.code, outcome.out) == (0, "")
    result = daedal.resume(tmp_path / "run.ckpt")
    assert "".join(map(str, result.x)) in outcome.err
    assert result.stop.message in " ".join(outcome.err.split())


if __name__ == "__main__":
    main_of_the_killer(Path(sys.argv[1]))

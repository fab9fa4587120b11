"""The command line as a whole: error messages, warnings, and the processes that it leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid

import pytest
from process_helpers import MARK, has_ended, marked, wait_until

from daedal.cli import main
from daedal.cli.app import COMMANDS


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("solv onemax:n=9", ["'solve'", "daedal --help"]),
        ("solve onemax:n=9 --max-evaluations 2k", ["--max-evaluations must be a whole number", "'2k'", "solve --help"]),
        ("solve onemax:n=9 --max-seconds 2s", ["--max-seconds must be a number", "'2s'"]),
        ("solve onemax:n=9 --nothing", ["--nothing", "daedal solve --help"]),
        ("solve", ["PROBLEM"]),
        ("report rnu.db", ["rnu.db"]),
    ],
)
def test_an_error_names_the_value_and_the_help(
    words: str, says: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["daedal", *words.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert all(text in err for text in says)


SUBCOMMANDS = {
    "study": ("init", "run", "status", "table", "plot", "merge", "export"),
    "reproduce": ("table1", "figures"),
    "instance": ("nk",),
}
HELP = [(), *((name,) for name in COMMANDS), *((group, name) for group in SUBCOMMANDS for name in SUBCOMMANDS[group])]


@pytest.mark.parametrize("width", [60, 100])
def test_every_command_explains_itself(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No line is longer than the terminal, and no text is cut."""
    monkeypatch.setenv("COLUMNS", str(width))
    for command in HELP:
        monkeypatch.setattr(sys, "argv", ["daedal", *command, "--help"])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert (ended.value.code, err) == (0, "")
        assert out.startswith(" ".join(["Usage: daedal", *command])), out
        assert "…" not in out
        assert max(map(len, out.splitlines())) <= width


STARTS = """\
import subprocess, sys, time
from daedal.evaluation.signals import kill_children

tree = "trap '' TERM HUP INT; sleep 1000 & (sleep 1000 & sleep 1000) & echo ready; while :; do sleep 1000; done"
ours = subprocess.Popen(["sh", "-c", tree], stdout=subprocess.PIPE)
ours.stdout.readline()
other = subprocess.Popen(["sleep", "1000"], start_new_session=True)
kill_children()
ours.wait()
print(other.pid, flush=True)
sys.stdin.read()
"""


def test_the_whole_tree_is_killed_except_for_other_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)
    with (
        subprocess.Popen(["sleep", "1000"]) as neighbor,  # in this group, but not a child of that process
        subprocess.Popen([sys.executable, "-c", STARTS], stdin=-1, stdout=-1, process_group=0) as owner,
    ):
        assert owner.stdout is not None
        other = int(owner.stdout.readline())
        wait_until(lambda: len(marked(mark)) == 3)  # the owner and the two others
        assert not any(map(has_ended, (other, neighbor.pid, owner.pid)))
        for pid in (other, neighbor.pid):
            os.kill(pid, signal.SIGKILL)
        owner.communicate()

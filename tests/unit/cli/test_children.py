"""What objectives have started in the command's own group ends with it; others do not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid

import pytest
from process_helpers import MARK, has_ended, marked, wait_until

STARTS = """\
import subprocess, sys, time
from daedal.cli.children import kill_children

tree = "trap '' TERM HUP INT; sleep 1000 & (sleep 1000 & sleep 1000) & echo ready; while :; do sleep 1000; done"
ours = subprocess.Popen(["sh", "-c", tree], stdout=subprocess.PIPE)
ours.stdout.readline()
other = subprocess.Popen(["sleep", "1000"], start_new_session=True)
kill_children()
ours.wait()
print(other.pid, flush=True)
sys.stdin.read()
"""


def test_the_whole_tree_ends_but_for_groups_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)
    with (
        subprocess.Popen(["sleep", "1000"]) as beside,  # in this group, but not of that process
        subprocess.Popen([sys.executable, "-c", STARTS], stdin=-1, stdout=-1, process_group=0) as owner,
    ):
        assert owner.stdout is not None
        other = int(owner.stdout.readline())
        wait_until(lambda: len(marked(mark)) == 3)  # the owner, and the two that are not its business
        assert not any(map(has_ended, (other, beside.pid, owner.pid)))
        for pid in (other, beside.pid):
            os.kill(pid, signal.SIGKILL)
        owner.communicate()

"""Those who make the attacks: processes that have daedal loaded, and are told one case after the other."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import sandbox
from cases import attempt
from processes import adopt_orphans

HERE = Path(__file__).parent
_SERVE = """\
import sys
sys.path[:0] = sys.argv[1].split(":")
import crew, pathlib
crew.serve(pathlib.Path(sys.argv[2]))
"""
"""Not a file: workers of daedal's would load it again."""


def serve(root: Path) -> None:
    """Make the cases that standard input names, a line each; a line of standard output says how each went."""
    from parts import PARTS, load_everything

    adopt_orphans()
    load_everything()
    for line in sys.stdin:
        order = json.loads(line)
        report = attempt(PARTS[order["part"]], order["seed"], order["index"], root)
        print(json.dumps(order | report), flush=True)


class Worker:
    """A process that makes cases; another one takes its place where one took it down."""

    def __init__(self, root: Path) -> None:
        self._command = [sys.executable, "-W", "ignore", "-c", _SERVE, f"{HERE}:{HERE.parent / 'support'}", str(root)]
        self._environment = sandbox.environment(root)
        self._process: subprocess.Popen[str] | None = None

    def __call__(self, order: dict[str, Any]) -> dict[str, Any]:
        """Have a case made."""
        if self._process is None:
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            self._process = subprocess.Popen(
                self._command, env=self._environment, start_new_session=True, cwd="/", **pipes
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if answer:
            return json.loads(answer)
        code = self._process.wait()
        self._process = None
        return order | {"what": "?", "problems": [f"it ended the attacker, with exit code {code}"], "seconds": 0.0}

    def close(self) -> None:
        """Let it go."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()


def make_all(
    orders: Iterable[dict[str, Any]], root: Path, *, workers: int, until: float, done: Callable[[dict[str, Any]], None]
) -> None:
    """Have all cases made by some workers, as long as there is time; `done` is told of each."""
    waiting, lock = iter(orders), threading.Lock()

    def following() -> Iterator[dict[str, Any]]:
        while time.monotonic() < until:
            with lock:
                order = next(waiting, None)
            if order is None:
                return
            yield order

    def work() -> None:
        worker = Worker(root)
        try:
            for order in following():
                report = worker(order)
                with lock:
                    done(report)
        finally:
            worker.close()

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:  # what has been found is shown
        with lock:
            waiting = itertools.chain()
        for thread in threads:
            thread.join()

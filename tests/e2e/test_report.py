"""`daedal report`: pages of runs and stores, as files and served."""

from __future__ import annotations

import http.client
import json
import os
import socket
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import Cli, Refused
from process_helpers import wait_until
from report_helpers import PageReader, read_html
from watch_helpers import watched

import daedal

STUDY = """
runs = 3
popsizes = [20, 40]
problems = [
    "onemax:n=12",
    { name = "<script>alert(1)</script>", problem = "mine.py:ones", n = 8, target = 8 },
    { name = "=fails", problem = "mine.py:fails", n = 4, target = 4 },
]
algorithms = ["umda", { name = "<b>tree</b>", algorithm = "tree" }]
"""
OBJECTIVES = """
def ones(x):
    return x.sum(axis=1)

def fails(x):
    raise ValueError("<i>no</i>")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(OBJECTIVES)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def page(path: str) -> PageReader:
    return read_html(Path(path).read_text(encoding="utf-8"))


def test_a_run_file_becomes_a_page_again_and_again(here: Cli, folder: Path) -> None:
    words = ("solve", "trap:k=4,n=16", "-a", "dae", "--popsize", 60, "--max-generations", 3, "--seed", 1)
    assert here(*words, "--run", "run.db").returncode == 0
    for _ in range(2):
        done = here("report", "run.db", "-o", "report.html")
        assert (done.returncode, done.stdout) == (0, "")
        assert "report.html" in done.stderr
    shown = page("report.html")
    assert shown.sections()[0] == "solution"
    assert {"progress", "effort", "decisions", "training"} <= set(shown.figures)
    again = daedal.load("run.db").again
    assert again
    assert again in shown.text


def test_a_store_becomes_a_page_with_every_text_escaped(here: Cli, folder: Path) -> None:
    here("study", "run", "study.toml", "--store", "s.db", "--workers", 1, "--full-grid")
    assert here("report", "s.db", "-o", "study.html").returncode == 0
    shown = page("study.html")
    assert shown.sections() == ["table", "sizes", "costs", "convergence", "failures"]
    assert shown.count("script") == 1
    assert shown.count("b") == shown.count("i") == 0
    assert "<script>alert(1)</script>" in shown.text
    assert "<i>no</i>" in shown.text
    assert shown.figures["sizes-0"][0]["lines"][0]["x"] == [20, 40]
    runtime = shown.figures["convergence-0"][1]
    assert runtime["lines"][0]["y"] == sorted(runtime["lines"][0]["y"])
    assert runtime["axis"]["log"]


def test_a_study_with_budgets_becomes_a_page(here: Cli, folder: Path) -> None:
    Path("b.toml").write_text('runs = 2\nbudgets = [30, 60]\nproblems = ["onemax:n=12"]\nalgorithms = ["umda"]\n')
    here("study", "run", "b.toml", "--store", "b.db", "--workers", 1)
    assert here("report", "b.db", "-o", "b.html").returncode == 0
    assert {"sizes-0", "convergence-0"} <= set(page("b.html").figures)


def test_what_cannot_be_reported_is_one_line(here: Cli, refused: Refused, folder: Path) -> None:
    Path("text.html").write_text("mine")
    Path("garbage.db").write_bytes(b"SQLite format 3\0garbage")
    with sqlite3.connect("other.db") as other:
        other.execute("CREATE TABLE mine (x)")
    other.close()
    here("solve", "onemax:n=8", "--seed", 1, "--run", "run.db")
    os.mkfifo("pipe")
    for words, says in {
        ("run.db",): "-o report.html",
        ("run.db", "-o", "x.html", "--watch"): "cannot be combined",
        ("run.db", "-o", "-"): "standard output",
        ("run.db", "-o", "x.html", "--port", "80"): "--watch",
        ("run.db", "-o", "run.db"): "name the same file",
        ("run.db", "-o", "text.html"): "stays as it is",
        ("run.db", "-o", "x.html", "--study", "1"): "store of a study",
        ("nothing.db", "-o", "x.html"): "no such file",
        (".", "-o", "x.html"): "is not a run",
        ("pipe", "-o", "x.html"): "pipe",
        ("text.html", "-o", "x.html"): "text.html",
        ("garbage.db", "-o", "x.html"): "garbage.db",
        ("other.db", "-o", "x.html"): "not a store",
        ("run.db", "--watch", "--port", "70000"): "65535",
    }.items():
        refused(here("report", *words), says)
    assert not Path("x.html").exists()
    assert Path("text.html").read_text() == "mine"


def asked(port: int, method: str = "GET", path: str = "/", **headers: str) -> tuple[int, dict[str, str], str]:
    """Ask a server as a browser would, or as one would not."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()
    finally:
        connection.close()


def test_the_server_answers_for_its_page_and_for_nothing_else(
    here: Cli, folder: Path, plain_environment: dict[str, str]
) -> None:
    here("solve", "onemax:n=8", "--seed", 1, "--run", "run.db")
    with watched(plain_environment, "run.db") as (port, _):
        status, headers, text = asked(port)
        assert status == 200
        assert read_html(text).sections()[0] == "solution"
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        status, headers, text = asked(port, "HEAD")
        assert (status, text) == (200, "")
        assert int(headers["content-length"]) > 10_000
        for path in ("/run.db", "/../run.db", "//run.db", "/index.html", "/?x", "/data/", "/%2e%2e/", "*"):
            assert asked(port, path=path)[0] == 404, path
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"):
            status, headers, _ = asked(port, method)
            assert (status, headers["allow"]) == (405, "GET, HEAD"), method
        assert asked(port, "BREW")[0] == 501
        assert asked(port, Host=f"localhost:{port}")[0] == 200
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", "", f"[::1]:{port}"):
            assert asked(port, Host=host)[0] == 403, host
            assert asked(port, path="/data", Host=host)[0] == 403, host
        assert _listening(port) == {"127.0.0.1"}


def _listening(port: int) -> set[str]:
    """Return the addresses of this machine at which a server answers on a port."""
    own = {str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    found = set()
    for address in {*own, "127.0.0.1", "127.0.0.2"}:
        with socket.socket() as probe:
            probe.settimeout(10)
            found |= {address} if probe.connect_ex((address, port)) == 0 else set()
    return found


def test_a_port_that_is_taken_is_one_line(here: Cli, refused: Refused, folder: Path) -> None:
    here("solve", "onemax:n=8", "--seed", 1, "--run", "run.db")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refused(here("report", "run.db", "--watch", "--port", taken.getsockname()[1]), "cannot listen")


def test_news_come_when_the_source_changes_and_the_last_good_page_stays(
    here: Cli, folder: Path, plain_environment: dict[str, str]
) -> None:
    for seed in (1, 2):
        here("solve", "onemax:n=8", "--run", f"{seed}.db", "--seed", seed)
    Path("1.db").rename("run.db")
    with watched(plain_environment, "run.db") as (port, _):

        def news(version: str) -> Any:
            return json.loads(asked(port, path=f"/data?version={version}")[2])

        first = news("")
        assert {"body", "version", "note", "title"} <= set(first)
        assert "body" not in news(first["version"])
        Path("2.db").replace("run.db")
        second = news(first["version"])
        assert "seed 2" in second["body"]
        whole = Path("run.db").read_bytes()
        Path("run.db").write_bytes(whole[:500])
        damaged = news(second["version"])
        assert damaged["bad"]
        assert "cannot be read" in damaged["note"]
        assert "body" not in damaged
        assert "seed 2" in asked(port)[2]
        Path("run.db").unlink()
        assert news(second["version"])["bad"]
        Path("run.db").write_bytes(whole)
        assert not news(second["version"])["bad"]


def test_a_store_that_is_looked_at_is_never_locked(here: Cli, folder: Path, plain_environment: dict[str, str]) -> None:
    from daedal.studies.store import Store

    here("study", "run", "study.toml", "--store", "s.db", "--workers", 1, "--full-grid")
    with watched(plain_environment, "s.db") as (port, _), Store("s.db") as writer:
        study, _, _ = writer.study()
        cell = study.cells()[0]
        versions = set()
        for seed in range(100, 120):
            writer.record(cell, seed, "an error", status="failed")
            versions.add(json.loads(asked(port, path="/data")[2])["version"])
        assert versions
        writer.remember(study, confirm=3)
        wait_until(lambda: json.loads(asked(port, path="/data")[2])["version"] not in versions)

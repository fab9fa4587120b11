"""`daedal report`: a page that shows a run or a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from daedal.cli import options
from daedal.cli.output import is_standard, say, shown
from daedal.report.page import check_plotly
from daedal.report.source import is_store, read_page, report_file


def report(
    source: Annotated[
        Path,
        typer.Argument(callback=options.absolute, help="The file of a run, or the store of a study; it is only read."),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", callback=options.absolute, help="The page to write (HTML)."),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Serve the page on this machine instead, and update it; Ctrl-C ends that.")
    ] = False,
    port: Annotated[
        int | None, typer.Option(metavar="N", help="With --watch: the port; one that is free where not given.")
    ] = None,
    number: Annotated[
        int | None,
        typer.Option("--study", metavar="N", help="Which study of a store; the one last run where not given."),
    ] = None,
) -> None:
    """Make a page that shows a run, or a study: one HTML file, which opens without a network."""
    if output is None and not watch:
        is_store(source)  # a name that is misspelt is told first
    if (output is None) != watch:
        came = "both" if watch else "neither"
        raise ValueError(f"expected a file for the page, as in -o report.html, or --watch, got {came}")
    if watch:
        _serve(source, port or 0, number)
        return
    if port is not None:
        raise ValueError("expected --port with --watch, got it without")
    assert output is not None
    if is_standard(output):
        raise ValueError(f"expected a file to write the page to, as in -o report.html, got -o {output}")
    report_file(source, output, number=number)
    say(f"{shown(output)} written; open it in a browser")


def _serve(source: Path, port: int, number: int | None) -> None:
    from daedal.report.server import serve  # here, because a file needs no server
    from daedal.report.watched import Watched

    check_plotly()
    watched = Watched(source, lambda: read_page(source, number=number, quick=True))
    serve(watched, port=port, ready=lambda address: say(f"{shown(source)} is shown at {address} (Ctrl-C ends it)"))

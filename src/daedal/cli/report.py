"""`daedal report`: a page about a run or a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from daedal.cli import options
from daedal.cli.output import is_standard, say, shown
from daedal.report.page import write_page
from daedal.report.source import read_page
from daedal.storage.files import check_apart


def report(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", callback=options.absolute, help="Run file, or store of a study. It is only read."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", callback=options.absolute, help="HTML page to write."),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Serve the page on this machine and keep it up to date, until Ctrl-C.")
    ] = False,
    port: Annotated[int | None, typer.Option(metavar="N", help="Port for --watch. Default: any that is free.")] = None,
    number: Annotated[
        int | None, typer.Option("--study", metavar="N", help="Number of the study in a store. Default: the last run.")
    ] = None,
) -> None:
    """Write an HTML page about a run or a study. The page opens without a network."""
    if output is None and not watch:
        read_page(source, number=number)  # raises if the file does not exist, which is the more likely mistake
        raise ValueError("name a file for the page, such as -o report.html, or use --watch")
    if output is not None and watch:
        raise ValueError("--output and --watch cannot be combined; remove one")
    if port is not None and not watch:
        raise ValueError("--port needs --watch")
    if output is None:
        from daedal.report.server import Watched, serve  # here, because a file needs no server

        watched = Watched(source, lambda: read_page(source, number=number, quick=True))
        serve(watched, port=port or 0, ready=lambda url: say(f"{shown(source)} is shown at {url} (Ctrl-C ends it)"))
        return
    if is_standard(output):
        raise ValueError(f"the page cannot be written to standard output, got -o {output}; name a file")
    check_apart({"the source": source, "--output": output})
    write_page(output, lambda: read_page(source, number=number))
    say(f"{shown(output)} written; open it in a browser")

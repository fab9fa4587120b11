"""What is wrong with the words of a command line: an unknown option or command, a number that is none."""

from __future__ import annotations

from typing import Any

_NUMBERS = {"int_parsing": "a whole number", "float_parsing": "a number"}


def usage_message(error: Any) -> str:
    """Say what is wrong, and whose help tells more.

    Errors are Any: which click their classes come from depends on the version of Typer.
    """
    path = getattr(getattr(error, "ctx", None), "command_path", "") or "daedal"
    return f"{_number_message(error) or error.format_message()} ({path} --help shows what there is)"


def _number_message(error: Any) -> str | None:
    """Say which number was expected, where Typer has the words of Pydantic for it, which leave out what came."""
    found = getattr(error.__cause__, "errors", None)
    first = found()[0] if callable(found) else {}
    if first.get("type") not in _NUMBERS or getattr(error, "param", None) is None:
        return None
    return f"expected {_NUMBERS[first['type']]} for {'/'.join(error.param.opts)}, got {first['input']}"

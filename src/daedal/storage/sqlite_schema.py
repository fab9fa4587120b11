"""Whether the tables of an SQLite file are those it was made with: views and triggers are code, and a file has none."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cache

_OBJECTS = "SELECT type, name, sql FROM sqlite_master WHERE type IN ('table', 'view', 'trigger')"


def statements(script: str) -> Iterator[str]:
    """Take a script apart: sqlite3's executescript would end a transaction first."""
    statement = ""
    for part in script.split(";"):
        statement += part + ";"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement:  # Something is open in it, which SQLite can tell better.
        yield statement


def oddity(connection: sqlite3.Connection, schema: str, *, complete: bool) -> str | None:
    """Say what no program of ours has put into a file; None where all is as its schema says.

    Tables may have columns in another order, as migrated ones have, and there may be others, which nobody asks for.
    Where a file is not `complete`, because it is of an older version, tables and columns may be missing.
    """
    found = {name: (kind, sql) for kind, name, sql in connection.execute(_OBJECTS)}
    triggers = [name for name, (kind, _) in found.items() if kind == "trigger"]
    if triggers:
        return f"it has a trigger, {triggers[0]!r}"
    for name, (kind, sql, columns) in _expected(schema).items():
        if name not in found:
            if complete:
                return f"it has no {kind} {name!r}"
            continue
        came, text = found[name]
        if came != kind or text.lstrip().upper().startswith("CREATE VIRTUAL"):
            return f"{name!r} is no {kind}"
        if not complete:
            continue
        if kind == "view" and text.split() != sql.split():
            return f"the view {name!r} is another one"
        missing = columns - _columns(connection, name)
        if missing:
            return f"{name!r} has no column {min(missing)!r}"
    return None


@cache
def _expected(schema: str) -> dict[str, tuple[str, str, frozenset[str]]]:
    """Give what a schema makes, by name: its kind, the statement, and the columns of a table."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in statements(schema):
            connection.execute(statement)
        made = connection.execute(_OBJECTS).fetchall()
        return {
            name: (kind, sql, _columns(connection, name) if kind == "table" else frozenset())
            for kind, name, sql in made
        }


def _columns(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    return frozenset(name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,)))

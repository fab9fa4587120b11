"""Rows of plain values as pandas data frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from daedal.settings.lazy import missing_extra
from daedal.studies.run import COLUMNS

if TYPE_CHECKING:
    from pandas import DataFrame

_NULLABLE = {bool: "boolean", int: "Int64", float: "float64"}
"""What pandas calls columns in which values may be missing; texts are what they are."""


def runs_frame(rows: Iterable[Mapping[str, Any]]) -> DataFrame:
    """Give what is known of runs, see `COLUMNS`, one row a run."""
    return frame_of(rows, COLUMNS)


def frame_of(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, type]) -> DataFrame:
    """Give rows as a data frame whose columns and types do not depend on which rows there are."""
    try:
        import pandas
    except ImportError as error:
        raise missing_extra("a data frame needs pandas", "frame") from error
    listed = list(rows)
    return pandas.DataFrame(
        {
            name: pandas.Series([row[name] for row in listed], dtype=_NULLABLE.get(kind, "object"))
            for name, kind in columns.items()
        }
    )

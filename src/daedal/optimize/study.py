"""`daedal.study`: studies from Python, and how they show themselves in terminals and notebooks."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from daedal.evaluation.options import EXECUTOR_TIMEOUT, available_cores, check_executor_timeout
from daedal.evaluation.process_pool import check_main_is_loaded
from daedal.limits import Limits
from daedal.objectives.spec import spec_parts
from daedal.settings.checks import counted
from daedal.spaces.space import Space, describe
from daedal.studies.analysis import Test
from daedal.studies.plan import Status
from daedal.studies.runner import Order, Watcher, run_study
from daedal.studies.snapshot import Snapshot, read_store
from daedal.studies.spec import LIMITS, Study
from daedal.studies.store import COLUMNS, Store, frame_of
from daedal.studies.tables import StudyTable
from daedal.studies.writers import escaped

if TYPE_CHECKING:
    from pandas import DataFrame

    from daedal.plot.figure import Figure


Part: TypeAlias = str | Mapping[str, object]
"""A problem or an algorithm: a text, or a table of keys and values as in a study file."""

_HOW = (
    "a study knows a problem by its text, and makes runs in other processes: put the function into a Python file, and "
    'give {"problem": "file.py:name", "n": ...}'
)


def listed(given: Part | Sequence[Part]) -> list[Any]:
    """Return a list, even of a single part."""
    return [given] if isinstance(given, str | Mapping) or callable(given) else list(given)


def problem_part(given: Part | Callable[..., object]) -> Any:
    """Return a problem as in a study file: a function by its file and name, and a space by its tables."""
    if callable(given):
        name = getattr(given, "__name__", type(given).__name__)
        raise TypeError(f"the problem {name} is a function, not a text or a table: {_HOW}")
    if not isinstance(given, Mapping):
        return given
    table: dict[str, Any] = dict(given)
    if callable(table.get("problem")):
        table["problem"] = _place_of(table["problem"])
    if isinstance(table.get("space"), Space):
        table["space"] = describe(table["space"])
    return table


def algorithm_part(given: Part) -> Any:
    """Return an algorithm as in a study file."""
    if not isinstance(given, Mapping):
        return given
    return {key: list(value) if isinstance(value, tuple | range) else value for key, value in given.items()}


def limits_part(given: Mapping[str, object] | Limits) -> dict[str, object]:
    """Return limits as in a study file."""
    if not isinstance(given, Limits):
        return dict(given)
    kept = {name: getattr(given, name) for name in (*LIMITS, "max_seconds", "target")}
    return {name: value for name, value in kept.items() if value is not None}


def _place_of(function: Any) -> str:
    """Return where other processes find a function: "path/to/file.py:name"."""
    name, module = getattr(function, "__qualname__", ""), getattr(function, "__module__", "__main__")
    try:
        file = inspect.getsourcefile(function) or ""
    except TypeError:
        file = ""
    if not name.isidentifier() or module == "__main__" or not file.endswith(".py") or not os.path.isfile(file):
        shown = name or type(function).__name__
        raise TypeError(f"the function {shown} is not at the top level of a Python file: {_HOW}")
    return f"{os.path.abspath(file)}:{name}"


_BOX = (
    "display:inline-block;box-sizing:border-box;max-width:100%;overflow-x:auto;padding:10px 14px;"
    "border:1px solid #8888;border-radius:6px;line-height:1.5"
)
_SOFT = "opacity:.7;font-size:.9em"
_MOST_ERRORS = 3


class TerminalTable(StudyTable):
    """The table of a study, which prints itself as `daedal study table` does."""

    def text(self, width: int | None = None) -> str:
        """Return the text for a terminal with this many columns. Default: those of the terminal."""
        from daedal.cli.study_tables import table_text  # here, because Rich takes a while to load

        return table_text(self, width)

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return self.html()


def counts_text(snapshot: Snapshot, status: Status) -> str:
    """Return a line with what a study compares and how many runs are done."""
    study = snapshot.study
    what = f"{counted(len(study.problems), 'problem')}, {counted(len(study.algorithms), 'algorithm')}"
    done, failed, left = (status.total(name) for name in ("done", "failed", "left"))
    ahead = f"{'' if study.budgets else 'at least '}{left:,} left" if left else "complete"
    return f"{what}; {counted(done, 'run')} done, {f'{failed:,} failed, ' if failed else ''}{ahead}"


def card(snapshot: Snapshot, status: Status, store: Path) -> str:
    """Return a study as a small HTML card: its counts, its table and its failures."""
    errors = list(status.errors.items())[:_MOST_ERRORS]
    parts = [
        f"<div><b>{escaped(counts_text(snapshot, status))}</b></div>",
        f'<div style="{_SOFT}">{escaped(_short_path(store))}</div>',
        StudyTable.of(snapshot).html(),
        *(f"<div>{escaped(counted(times, 'time'))}: {escaped(error)}</div>" for error, times in errors),
    ]
    return f'<div style="{_BOX}">{"".join(parts)}</div>'


def _short_path(store: Path) -> str:
    """Return the shorter path of a store: relative to the current folder, or absolute."""
    there = str(store)
    try:
        there = str(store.resolve())
        return min(os.path.relpath(there, Path.cwd().resolve()), there, key=len)
    except (OSError, RuntimeError, ValueError):  # here is no longer, or on another drive, or links go in a circle
        return there


def study(
    problems: Part | Sequence[Part] | None = None,
    algorithms: Part | Sequence[Part] | None = None,
    *,
    store: str | os.PathLike[str],
    runs: int | None = None,
    seed: int | None = None,
    popsizes: Sequence[int] | None = None,
    budgets: Sequence[int] | None = None,
    limits: Mapping[str, object] | Limits | None = None,
    shuffle: bool | None = None,
    confirm: int | None = None,
    full_grid: bool | None = None,
    number: int | None = None,
) -> StoredStudy:
    """Define a study of several algorithms on several problems, or open the study of a store.

    What can be given is what a study file has, under the same names. Nothing is run, or written, before `run`.

    Parameters
    ----------
    problems
        Texts ("trap:k=5,n=50"), or tables: `name`, `problem`, `n`, `space`, `by_row`, `minimize`, `target`, `timeout`,
        `version`. In a table the problem may be "file.py:f", or a function that stands at the top of a file of its own.
    algorithms
        Names, or tables: `name`, `algorithm`, `settings`, `popsizes`, `popsize`.
    store
        The file that keeps the runs. Without problems and algorithms, the study that was last run with it is opened.
    runs
        Runs of each problem, algorithm and population size or budget; 20 where not given.
    seed
        The first of their seeds; 0 where not given.
    popsizes
        Population sizes to try, from small to large, as far as it takes.
    budgets
        Calls of the objective, instead of a search for population sizes.
    limits
        What ends a run: `max_evaluations`, `max_generations`, `patience`.
    shuffle
        Whether named problems get their variables in a random order; they do where not given.
    confirm
        How many fresh seeds measure each chosen size again; as the last time where not given.
    full_grid
        Whether every size is run in full, though the answer is known earlier; as the last time where not given.
    number
        Which study of a store is opened, where it holds several.

    Examples
    --------
    >>> import daedal, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     some = daedal.study(
    ...         ["onemax:n=10"], ["umda", "pbil"], popsizes=[20, 50], runs=3, store=f"{folder}/results.db"
    ...     )
    ...     some.run(workers=1).status()
    ...     again = daedal.study(store=f"{folder}/results.db")
    ...     sorted(set(again.frame()["algorithm"]))
    Status(done=6, failed=0, killed=0, solved=6, left=0)
    ['pbil', 'umda']
    """
    keywords = {
        "runs": runs,
        "seed": seed,
        "popsizes": None if popsizes is None else list(popsizes),
        "budgets": None if budgets is None else list(budgets),
        "limits": None if limits is None else limits_part(limits),
        "shuffle": shuffle,
    }
    given = {name: value for name, value in keywords.items() if value is not None}
    path = Path(store).absolute()
    if problems is None and algorithms is None:
        if given:
            raise TypeError(f"{', '.join(given)} need problems and algorithms; to open a study, give the store alone")
        return StoredStudy(read_store(path, number=number).study, path, confirm, full_grid, opened=True)
    if problems is None or algorithms is None or number is not None:
        raise TypeError("give problems and algorithms to define a study, or only a store (and a number) to open one")
    given["problems"] = list(map(problem_part, listed(problems)))
    given["algorithms"] = list(map(algorithm_part, listed(algorithms)))
    return StoredStudy(Study.from_dict(given, folder=Path.cwd()), path, confirm, full_grid)


class StoredStudy:
    """A study, with the store that keeps its runs. `daedal.study` returns one.

    All that it shows is read from the store when it is asked for, also while another process runs the study.

    Attributes
    ----------
    spec
        What is compared.
    store
        The file with the runs.
    """

    def __init__(
        self, spec: Study, store: Path, confirm: int | None, full_grid: bool | None, *, opened: bool = False
    ) -> None:
        self.spec = spec
        self.store = store
        self._order = Order(confirm=confirm, full_grid=full_grid)
        self._opened = opened

    def run(
        self,
        *,
        workers: int | None = None,
        progress: bool = False,
        retry_failed: bool = False,
        executor: Executor | None = None,
        executor_timeout: float = EXECUTOR_TIMEOUT,
    ) -> StoredStudy:
        """Run what is missing; what the store has is never run again. Ctrl-C keeps every run that has ended.

        Parameters
        ----------
        workers
            Processes, as many as there are cores where not given; results do not depend on it. A script has to keep the
            call under `if __name__ == "__main__":`.
        progress
            Whether to show the study as it goes, on standard error.
        retry_failed
            Whether to run again what has failed.
        executor, executor_timeout
            An external executor instead of workers: see `maximize`.

        Returns
        -------
        StoredStudy
            The study itself, also after Ctrl-C. `status` tells how many runs are left, and `run` continues.
        """
        check_main_is_loaded()
        self._check_is_whole()
        order = Order(
            workers=available_cores() if workers is None else workers,
            confirm=self._order.confirm,
            full_grid=self._order.full_grid,
            retry_failed=retry_failed,
        )
        with Store(self.store) as store, suppress(KeyboardInterrupt), _display(progress) as display:
            timeout = check_executor_timeout(executor_timeout)
            run_study(self.spec, store, order, display, executor=executor, executor_timeout=timeout)
        return self

    def snapshot(self) -> Snapshot:
        """Return the study and its runs at this moment, for figures and tables."""
        if not self.store.exists():
            return Snapshot(study=self.spec, runs={}, confirm=self._order.confirm or 0)
        return read_store(self.store, study=self.spec)

    def table(self, *, sizes: bool = False, test: Test = "signed-rank", holm: bool = False) -> TerminalTable:
        """Return the table so far. It has the methods `markdown`, `latex`, `csv`, `json`, `html` and `frame`.

        Parameters
        ----------
        sizes
            Whether each population size has a line.
        test, holm
            Which test decides about the stars ("signed-rank", "mann-whitney"), and whether it is corrected for the
            number of pairs.
        """
        return TerminalTable.of(self.snapshot(), test=test, holm=holm, sizes=sizes)

    def frame(self) -> DataFrame:
        """Return all runs of the study as a pandas data frame with one row per run."""
        names = {cell.key: (cell.problem.name, cell.algorithm.name) for cell in self.spec.cells()}
        if not self.store.exists():
            return frame_of([], COLUMNS)
        with Store(self.store, create=False) as store:
            rows = [row for row in store.rows() if row["cell"] in names]
        for row in rows:
            row["problem"], row["algorithm"] = names[row["cell"]]
        return frame_of(rows, COLUMNS)

    def status(self) -> Status:
        """Say how far the study is, cell by cell, and what has failed."""
        return self.snapshot().status()

    def plot(self, folder: str | os.PathLike[str] | None = None, *, problem: str | None = None) -> list[Figure]:
        """Draw the figures of the study: what each size or budget reaches, and how runs went.

        Parameters
        ----------
        folder
            Folder to write them to as SVG, and as PNG with the extra `plot`. Default: they are only returned.
        problem
            Which problem; all where not given.
        """
        from daedal.plot.studies import draw_figures, save_figures  # here, because a study needs no figures

        problems = [] if problem is None else [problem]
        if folder is None:
            return [figure for _, figure in draw_figures(self.snapshot(), problems)]
        return [figure for figure, _ in save_figures(self.snapshot(), Path(folder), problems)]

    def __repr__(self) -> str:
        now = self.snapshot()
        return f"StoredStudy({self.store.name!r}: {counts_text(now, now.status())})"

    def _repr_html_(self) -> str:
        now = self.snapshot()
        return card(now, now.status(), self.store)

    def _check_is_whole(self) -> None:
        """Refuse to run what a store alone names: reading a file must not be able to run anything."""
        for problem in self.spec.problems if self._opened else ():
            if spec_parts(problem.problem)[0] != "problem":
                raise ValueError(
                    f"the store does not hold {problem.name!r} itself, and nothing that it names is run; give problems "
                    "and algorithms to daedal.study again to go on"
                )


def _display(wanted: bool) -> AbstractContextManager[Watcher | None]:
    if not wanted:
        return nullcontext()
    from daedal.cli.study_display import StudyDisplay

    return StudyDisplay()

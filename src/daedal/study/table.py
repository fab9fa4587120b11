"""The table of a study as the paper prints it: on a terminal, as Markdown, as LaTeX, and flat for other programs.

Everything shown is first put into lines of cells (`_Line`), the same for each format: a chosen size and its effort,
below it what the paper has, what fresh seeds say, and how many runs failed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderResult
from rich.text import Text

from daedal.study.analysis import Effort, Measure, Row, Runs, efforts, outcomes
from daedal.study.plan import LEVELS, Choice, Unsettled
from daedal.study.published import Published, PublishedTable, is_theirs
from daedal.study.spec import Study, StudyProblem
from daedal.study.statistics import LEVEL, Test, can_be_significant

_NONE = "\N{EN DASH}"
_OPEN = "…"
_UNKNOWN = "n/a"
_OTHER = "†"
_TESTS: dict[Test, str] = {"signed-rank": "Wilcoxon signed-rank", "mann-whitney": "Mann-Whitney"}
_ASCII = {
    " ± ": " +-",
    "≥ ": ">=",
    _NONE: "-",
    _OPEN: "?",
    _OTHER: "+",
    "─": "-",
}  # of the same width, so that columns stay in line
_LATEX: dict[str, str | int | None] = {
    "\\": r"\textbackslash{}",
    **{sign: rf"\{sign}" for sign in "_&%#{}$"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",  # this and the next two come out as other signs in LaTeX's old encoding
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    _NONE: r"\textendash{}",
    _OPEN: r"\dots{}",
    _OTHER: r"\dag{}",
    "±": r"$\pm$",
    "≥": r"$\geq$",
}
_LINES_OF_A_PAGE = 64  # as many as the paper's table has
_LEFT = ("Problem", "Algorithm")
_GAP = Text("  ")


@dataclass(frozen=True, kw_only=True)
class _Cell:
    """A text, or a mean and its deviation, which a column lines up at the sign between them."""

    text: str = ""
    sd: str = ""
    star: bool = False
    style: str = ""


_EMPTY = _Cell()


@dataclass(frozen=True, kw_only=True)
class _Line:
    """One line of an entry; the label is a population size, or says what the numbers are."""

    label: _Cell
    evaluations: _Cell = _EMPTY
    seconds: _Cell = _EMPTY


@dataclass(frozen=True, kw_only=True)
class _Block:
    """The lines of an entry: ours, the paper's if it has any, and those of fresh seeds."""

    ours: list[_Line]
    paper: _Line | None
    again: list[_Line]

    def lines(self) -> list[_Line]:
        return [*self.ours, *([] if self.paper is None else [self.paper]), *self.again]


def rich_table(
    rows: Sequence[Row],
    *,
    published: PublishedTable | None = None,
    width: int | None = None,
    test: Test = "signed-rank",
    correct: bool = False,
    legend: bool = True,
) -> ConsoleRenderable:
    """Lay out the table for a terminal, as it has room: levels side by side or below each other, and so the paper.

    Parameters
    ----------
    rows
        As `analyse` gives them.
    published
        The paper's numbers, shown with those of the same problem and algorithm.
    width
        Columns of the terminal; None: what the console has.
    test, correct
        How the stars were found, for the legend.
    legend
        Whether to explain the signs below the table.

    Examples
    --------
    >>> from daedal.study.analysis import analyse
    >>> study = Study.from_dict({"problems": ["onemax:n=20"], "algorithms": ["umda"], "popsizes": [50]})
    >>> Console(width=60).print(rich_table(analyse(study, {}), legend=False))
    Algorithm   level  popsize  evaluations  CPU s
    ──────────────────────────────────────────────
    onemax:n=20
    umda       ≥ 50 %        …            …      …
               ≥ 90 %        …            …      …
    """
    published = _of_rows(rows, published)
    ways = (True, False) if published else (False,)
    sheets = [form(rows, published, beside=beside) for form in (_side_by_side, _one_below_other) for beside in ways]
    return _Laid(sheets, _legend(rows, published, test, correct) if legend else [], width)


def markdown(
    rows: Sequence[Row],
    *,
    published: PublishedTable | None = None,
    note: str = "",
    test: Test = "signed-rank",
    correct: bool = False,
) -> str:
    """Write the table as Markdown.

    Parameters
    ----------
    rows, published, test, correct
        As for `rich_table`.
    note
        Text below the table.

    Examples
    --------
    >>> from daedal.study.analysis import analyse
    >>> study = Study.from_dict({"problems": ["onemax:n=20"], "algorithms": ["umda"], "popsizes": [50]})
    >>> print(markdown(analyse(study, {})).splitlines()[2])
    | onemax:n=20 | umda | … | … | … | … | … | … |
    """
    published = _of_rows(rows, published)
    again = any(entry.confirmed for row in rows for entry in row.entries.values())
    names = ["evaluations", *(["paper"] if published else []), "CPU s", *(["paper"] if published else [])]
    names += ["again, with fresh seeds"] if again else []
    header = ["Problem", "Algorithm", *(name for level in LEVELS for name in (f"≥ {level} %: popsize", *names))]
    body = []
    for problem, of_problem in groupby(rows, key=lambda row: row.problem):
        title = _marked_down(" ".join(filter(None, _title(problem, published))))
        for row in of_problem:
            cells = [cell for level in LEVELS for cell in _markdown_cells(row, level, published, again)]
            body.append([title, _marked_down(row.algorithm.name), *cells])
            title = ""
    notes = [*([note] if note else []), *map(_marked_down, _legend(rows, published, test, correct))]
    return _markdown_table(header, body) + "\n" + "\n\n".join(notes) + "\n"


def latex(
    rows: Sequence[Row],
    *,
    published: PublishedTable | None = None,
    note: str = "",
    test: Test = "signed-rank",
    correct: bool = False,
) -> str:
    r"""Write the table as LaTeX to be \input: one table*, or several where it is longer than a page.

    Parameters
    ----------
    rows, published, test, correct
        As for `rich_table`.
    note
        Text before the legend in the caption.

    Examples
    --------
    >>> from daedal.study.analysis import analyse
    >>> study = Study.from_dict({"problems": ["onemax:n=20"], "algorithms": ["umda"], "popsizes": [50]})
    >>> print(latex(analyse(study, {})).splitlines()[0])
    % Written by daedal. \input it in a document with \usepackage{booktabs,graphicx}.
    """
    published = _of_rows(rows, published)
    caption = _escaped(" ".join(filter(None, [note, *_legend(rows, published, test, correct)])))
    parts = [r"% Written by daedal. \input it in a document with \usepackage{booktabs,graphicx}."]
    for number, page in enumerate(_pages(_side_by_side(rows, published).groups)):
        parts.append(_latex_page(page, "Continued." if number else caption))
    return "\n".join(parts) + "\n"


def latex_document(
    rows: Sequence[Row],
    *,
    published: PublishedTable | None = None,
    note: str = "",
    test: Test = "signed-rank",
    correct: bool = False,
) -> str:
    r"""Write the table as a LaTeX document of its own; parameters as for `latex`.

    Examples
    --------
    >>> print(latex_document([]).splitlines()[0])
    \documentclass[a4paper]{article}
    """
    table = latex(rows, published=published, note=note, test=test, correct=correct)
    return "\n".join(
        [
            r"\documentclass[a4paper]{article}",
            r"\usepackage[margin=1cm]{geometry}",
            r"\usepackage{booktabs,graphicx}",
            r"\pagestyle{empty}",
            r"\begin{document}",
            f"{table}\\end{{document}}\n",
        ]
    )


def sizes_table(study: Study, runs: Runs, *, width: int | None = None) -> ConsoleRenderable:
    """Lay out every population size for a terminal: solved and failed runs, mean best, evaluations, CPU seconds.

    Examples
    --------
    >>> from daedal.study.store import Run
    >>> study = Study.from_dict({"problems": ["onemax:n=20"], "algorithms": ["umda"], "popsizes": [50], "runs": 1})
    >>> run = Run(seed=0, status="done", success=True, best=20.0, evaluations=150, seconds=0.01)
    >>> Console(width=80).print(sizes_table(study, {study.cells()[0].key: {0: run}}))
    Problem      Algorithm  popsize  solved  mean best  evaluations  CPU s
    ───────────────────────────────────────────────────────────────────────────
    onemax:n=20  umda            50     1/1     20 ± 0      150 ± 0  0.01 ± 0.0
    """
    names, sizes = _sizes(study, runs)
    columns = [_Column(name) for name in ("Algorithm", *names)]
    groups = [_Group(problem_title(problem), _named(lines)) for problem, lines in sizes.items()]
    narrow = [
        _Group((f"{problem_title(problem)[0]}, {algorithm}", problem_title(problem)[1]), cells)
        for problem, lines in sizes.items()
        for algorithm, cells in lines
    ]
    sheets = [_with_problems(columns, groups), _Sheet(columns, groups, headed=True)]
    return _Laid([*sheets, _Sheet(columns[1:], narrow, headed=True)], [], width)


def sizes_markdown(study: Study, runs: Runs) -> str:
    """Write every population size as Markdown, see `sizes_table`.

    Examples
    --------
    >>> study = Study.from_dict({"problems": ["onemax:n=20"], "algorithms": ["umda"], "popsizes": [50]})
    >>> print(sizes_markdown(study, {}).splitlines()[0])
    | Problem | Algorithm | popsize | solved | mean best | evaluations | CPU s |
    """
    names, sizes = _sizes(study, runs)
    body = []
    for problem, lines in sizes.items():
        title = _marked_down(" ".join(filter(None, problem_title(problem))))
        for line in _named(lines):
            body.append([title, *map(_markdown_cell, line)])
            title = ""
    return _markdown_table(["Problem", "Algorithm", *names], body)


def flat_sizes(study: Study, runs: Runs) -> list[dict[str, object]]:
    """Give every population size that has runs for other programs, see `sizes_table`.

    Examples
    --------
    >>> study = Study.from_dict({"problems": ["onemax:n=20"], "algorithms": ["umda"], "popsizes": [50]})
    >>> flat_sizes(study, {})
    []
    """
    flat = []
    for problem, algorithm in study.pairs():
        known = outcomes(study, runs, problem, algorithm)
        for effort in efforts(study, runs, problem, algorithm):
            judged = None not in known[effort.popsize].values()
            flat.append(
                {
                    "problem": problem.name,
                    "spec": _without_folder(problem.problem),
                    "algorithm": algorithm.name,
                    "popsize": effort.popsize,
                    "runs": effort.runs,
                    "solved": effort.solved if judged else None,
                    "failed": effort.failed,
                    "complete": effort.complete,
                    **_flat_measures("", effort, ("best", "evaluations", "seconds"), ("mean", "sd")),
                }
            )
    return flat


def flat_rows(rows: Sequence[Row], *, published: PublishedTable | None = None) -> list[dict[str, object]]:
    """Give the table for other programs: one dictionary for each problem, algorithm and level.

    Where there is no population size, `unsettled` says why. `ratio` is our evaluations over the paper's, where the
    problem is the same.

    Examples
    --------
    >>> from daedal.study.analysis import analyse
    >>> study = Study.from_dict({"problems": ["onemax:n=20"], "algorithms": ["umda"], "popsizes": [50]})
    >>> row = flat_rows(analyse(study, {}))[0]
    >>> row["problem"], row["level"], row["popsize"], row["unsettled"]
    ('onemax:n=20', 50, None, 'not known yet')
    """
    return [_flat(row, level, published) for row in rows for level in LEVELS]


def problem_title(problem: StudyProblem) -> tuple[str, str]:
    """Give a problem's name and, in brackets, what it is where the name does not say so: a seed has to be seen.

    There, only the name of a file is given, not where it lies.

    Examples
    --------
    >>> problem_title(StudyProblem(name="nk:n=30,k=4,i=2", problem="nk:n=30,k=4,seed=2"))
    ('nk:n=30,k=4,i=2', '(nk:n=30,k=4,seed=2)')
    >>> problem_title(StudyProblem(name="trap:k=5,n=50", problem="trap:k=5,n=50"))
    ('trap:k=5,n=50', '')
    """
    name, spec = _one_line(problem.name), _one_line(_without_folder(problem.problem))
    return name, "" if _without_folder(name) == spec else f"({spec})"


def _title(problem: StudyProblem, published: PublishedTable | None) -> tuple[str, str]:
    """Give the title of a problem, with a mark where the paper's numbers are of another one."""
    name, spec = problem_title(problem)
    return name, f"{spec}{_OTHER}" if _is_another(problem, published) else spec


def _is_another(problem: StudyProblem, published: PublishedTable | None) -> bool:
    return not is_theirs(problem) and any(name == problem.name for name, _ in published or ())


# What there is to say


def _block(row: Row, level: int, published: PublishedTable | None) -> _Block:
    entry = row.entries[level]
    known = None if published is None else published.get((row.problem.name, row.algorithm.name))
    paper = None if known is None else _paper_line(known.get(level))
    if entry.effort is None:
        return _Block(ours=_lines_without_size(row, entry.choice is Unsettled.OPEN), paper=paper, again=[])
    again = []
    if entry.confirmed is not None:
        label = f"again {entry.confirmed.solved}/{entry.confirmed.runs}" if entry.confirmed.runs else "again"
        again = _effort_lines(entry.confirmed, label, style="dim")
    return _Block(ours=_effort_lines(entry.effort, f"{entry.effort.popsize:,}"), paper=paper, again=again)


def _lines_without_size(row: Row, is_open: bool) -> list[_Line]:
    """Say why there is no population size; of one that is still tried, how many runs solved the problem so far."""
    sign = _Cell(text=_OPEN if is_open else _NONE if row.judged else _UNKNOWN)
    so_far = sign
    if is_open and row.judged and row.under_way is not None:
        so_far = _Cell(text=f"{row.under_way.solved}/{row.under_way.runs} at {row.under_way.popsize:,}", style="dim")
    failed = [_Line(label=_Cell(text=f"{row.failed:,} failed", style="yellow"))] if row.failed else []
    return [_Line(label=sign, evaluations=so_far, seconds=sign), *failed]


def _paper_line(numbers: Published | None) -> _Line:
    label = _Cell(text="paper", style="dim")
    if numbers is None:
        return _Line(label=label, evaluations=_Cell(text=_NONE, style="dim"), seconds=_Cell(text=_NONE, style="dim"))
    return _Line(
        label=label,
        evaluations=_measured(numbers.evaluations, _evaluations, style="dim"),
        seconds=_measured(numbers.seconds, _seconds, style="dim"),
    )


def _effort_lines(effort: Effort, label: str, *, style: str = "") -> list[_Line]:
    line = _Line(
        label=_Cell(text=label, style=style),
        evaluations=_measured(effort.evaluations, _evaluations, complete=effort.complete, style=style),
        seconds=_measured(effort.seconds, _seconds, complete=effort.complete, style=style),
    )
    failed = _Line(label=_Cell(text=f"{effort.failed:,} failed", style="yellow"))
    return [line, failed] if effort.failed else [line]


def _measured(
    measure: Measure | None, write: Callable[[float], str], *, complete: bool = True, style: str = ""
) -> _Cell:
    if measure is None:
        return _Cell(text=_NONE if complete else _OPEN, style=style)
    sd = write(measure.sd) if complete else f"{write(measure.sd)} {_OPEN}"
    return _Cell(text=write(measure.mean), sd=sd, star=measure.star, style=style)


def _evaluations(value: float) -> str:
    return f"{value:,.0f}"


def _seconds(value: float) -> str:
    """Write seconds with two digits at least, as the paper does: 0.03, 1.2, 34, 1,297."""
    if value >= 9.95:
        return f"{value:,.0f}"
    if value >= 0.995 or value == 0:
        return f"{value:.1f}"
    return f"{value:.2g}" if value >= 0.001 else "<0.001"


def _without_folder(spec: str) -> str:
    """Leave out where a file lies: "nk:some/file.nk" or "some/file.py:function"; a command stays as it is."""
    if spec.startswith("cmd:"):
        return spec
    path, _, function = spec.rpartition(":")
    if path.endswith(".py"):
        return f"{_last(path)}:{function}"
    kind, colon, rest = spec.partition(":")
    return f"{kind}{colon}{_last(rest)}"  # no parameter has a slash


def _last(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]


def _of_rows(rows: Sequence[Row], published: PublishedTable | None) -> PublishedTable | None:
    """Give the paper's numbers if it has any of these rows."""
    known = published or {}
    return published if any((row.problem.name, row.algorithm.name) in known for row in rows) else None


def _legend(rows: Sequence[Row], published: PublishedTable | None, test: Test, correct: bool) -> list[str]:
    """Explain what is shown, and the signs that are there."""
    lines = [line for row in rows for level in LEVELS for line in _block(row, level, published).lines()]
    signs = {word for line in lines for word in f"{line.label.text} {line.evaluations.sd}".split()}
    found = [entry.effort for row in rows for entry in row.entries.values() if entry.effort is not None]
    runs = max((effort.runs for effort in found), default=0)
    is_theirs_only = published is None or not any(_is_another(row.problem, published) for row in rows)
    sentences = {
        f"Mean ± standard deviation of {runs:,} runs up to the best solution, at the smallest population size that "
        "solves that share of them.": runs > 0,
        **_star_sentences(lines, found, test, correct),
        f"{_NONE} none of the sizes that were tried reaches the level.": any(
            entry.choice is Unsettled.NONE and row.judged for row in rows for entry in row.entries.values()
        ),
        f"{_OPEN} not all runs are made yet; 3/7 at 500: of 7 runs with popsize 500, 3 have solved it.": _OPEN in signs,
        f"{_UNKNOWN} no optimum or target is known, so nobody can tell what is solved; see --sizes.": _UNKNOWN in signs,
        "failed: these runs ended with an error; they count as not solved and are left out of the means.": any(
            row.failed for row in rows
        ),
        "again: the same size with fresh seeds, solved/runs.": any(
            entry.confirmed for row in rows for entry in row.entries.values()
        ),
        "paper: as published, measured with Octave on another machine in 2015.": published is not None,
        f"{_OTHER} not the paper's landscape, but another of the same n and k: the paper's numbers are of "
        "theirs.": not is_theirs_only,
    }
    return [sentence for sentence, holds in sentences.items() if holds]


def _star_sentences(lines: Sequence[_Line], found: Sequence[Effort], test: Test, correct: bool) -> dict[str, bool]:
    """Explain the star, and why there can be none."""
    holm = ", corrected by Holm's method" if correct else ""
    how = f"pairwise {_TESTS[test]} tests, p < {LEVEL}{holm}"
    runs = max((effort.runs for effort in found), default=0)
    possible = can_be_significant(runs, test=test)
    return {
        f"* significantly smaller than all others of the problem that reach the level ({how}).": possible
        or any(line.evaluations.star or line.seconds.star for line in lines),
        f"With {runs:,} runs no difference can be significant ({how}).": runs > 0 and not possible,
    }


# For a terminal


@dataclass(frozen=True)
class _Column:
    """A column's title, and what stands above those of it and its neighbours."""

    title: str
    over: str = ""


@dataclass(frozen=True)
class _Group:
    """The lines of one problem, and its title: the name, and what it is."""

    title: tuple[str, str]
    lines: list[list[_Cell]]


@dataclass(frozen=True)
class _Sheet:
    """Columns and groups of lines; headed: the titles stand above their groups, not in a column of their own."""

    columns: list[_Column]
    groups: list[_Group]
    headed: bool = False


def _side_by_side(rows: Sequence[Row], published: PublishedTable | None, *, beside: bool = False) -> _Sheet:
    """Give the paper's form: an algorithm a line, the levels side by side; the paper's numbers beside ours or below."""
    columns = [_Column("Algorithm")]
    for level in LEVELS:
        columns += [_Column(name, f"≥ {level} % of runs solved") for name in _names(beside=beside)]

    def lines(row: Row) -> list[list[_Cell]]:
        blocks = [_cells(_block(row, level, published), beside=beside) for level in LEVELS]
        blank = [_EMPTY] * len(_names(beside=beside))
        return [[cell for part in parts for cell in part] for parts in zip_longest(*blocks, fillvalue=blank)]

    return _with_problems(columns, _groups(rows, published, lines))


def _one_below_other(rows: Sequence[Row], published: PublishedTable | None, *, beside: bool = False) -> _Sheet:
    """Give the form for narrow terminals: problems as headings, a line for each level."""
    columns = [_Column(name) for name in ("Algorithm", "level", *_names(beside=beside))]

    def lines(row: Row) -> list[list[_Cell]]:
        found = []
        for level in LEVELS:
            first, *others = _cells(_block(row, level, published), beside=beside)
            found += [[_Cell(text=f"≥ {level} %"), *first], *([_EMPTY, *other] for other in others)]
        return found

    return _Sheet(columns, _groups(rows, published, lines), headed=True)


def _names(*, beside: bool) -> list[str]:
    return ["popsize", "evaluations", "paper", "CPU s", "paper"] if beside else ["popsize", "evaluations", "CPU s"]


def _cells(block: _Block, *, beside: bool) -> list[list[_Cell]]:
    """Give the cells of an entry, line by line; beside: the paper's numbers have columns of their own."""
    if not beside:
        return [[line.label, line.evaluations, line.seconds] for line in block.lines()]
    lines = [[line.label, line.evaluations, _EMPTY, line.seconds, _EMPTY] for line in (*block.ours, *block.again)]
    if block.paper is not None:
        lines[0][2], lines[0][4] = block.paper.evaluations, block.paper.seconds
    return lines


def _groups(
    rows: Sequence[Row], published: PublishedTable | None, lines_of: Callable[[Row], list[list[_Cell]]]
) -> list[_Group]:
    """Gather the lines of each problem."""
    return [
        _Group(
            _title(problem, published),
            _named([(_one_line(row.algorithm.name), lines_of(row)) for row in of_problem]),
        )
        for problem, of_problem in groupby(rows, key=lambda row: row.problem)
    ]


def _named(lines: Sequence[tuple[str, list[list[_Cell]]]]) -> list[list[_Cell]]:
    """Put the name of each algorithm before the first of its lines."""
    return [
        [_Cell(text="" if number else name), *line] for name, of_name in lines for number, line in enumerate(of_name)
    ]


def _with_problems(columns: list[_Column], groups: list[_Group]) -> _Sheet:
    """Put the titles of the groups into a first column: the name in one line, what it is in the next."""
    blank = [_EMPTY] * len(columns)
    filled = []
    for group in groups:
        name, spec = group.title
        titles = [_Cell(text=name, style="bold"), *([_Cell(text=spec, style="dim")] if spec else [])]
        pairs = zip_longest(titles, group.lines)
        filled.append(_Group(group.title, [[title or _EMPTY, *(line or blank)] for title, line in pairs]))
    return _Sheet([_Column("Problem"), *columns], filled)


@dataclass(frozen=True)
class _Laid:
    """The first of several sheets that fits the console, or else the last, and a legend below it."""

    sheets: list[_Sheet]
    legend: list[str]
    width: int | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width if self.width is None else self.width
        sheet = next((sheet for sheet in self.sheets if _width(sheet) <= width), self.sheets[-1])
        lines = _laid(sheet)
        lines += [Text(), *(Text(sentence, style="dim") for sentence in self.legend)] if self.legend else []
        for line in lines:
            yield _in_ascii(line) if options.ascii_only else line


def _width(sheet: _Sheet) -> int:
    """Give the width of a sheet, without laying it out, which takes longer."""
    widths = [_widths(column, cells)[-1] for column, cells in _by_column(sheet)]
    headings = [_heading(group).cell_len for group in sheet.groups if sheet.headed]
    return max(sum(widths) + len(_GAP) * (len(widths) - 1), *headings, 0)


def _laid(sheet: _Sheet) -> list[Text]:
    """Lay out a sheet line by line."""
    columns = [_filled(column, cells) for column, cells in _by_column(sheet)]
    title, *body = [_GAP.join(parts) for parts in zip(*columns, strict=True)]
    lines = [*_overs(sheet.columns, [column[0].cell_len for column in columns]), title]
    lines.append(Text("─" * title.cell_len, style="dim"))
    left = iter(body)
    for number, group in enumerate(sheet.groups):
        lines += [Text()] if number else []
        lines += [_heading(group)] if sheet.headed else []
        lines += [next(left) for _ in group.lines]
    for line in lines:
        line.rstrip()
    return lines


def _by_column(sheet: _Sheet) -> Iterator[tuple[_Column, list[_Cell]]]:
    for index, column in enumerate(sheet.columns):
        yield column, [line[index] for group in sheet.groups for line in group.lines]


def _heading(group: _Group) -> Text:
    name, spec = group.title
    return Text.assemble((name, "bold"), "  " if spec else "", (spec, "dim"))


def _widths(column: _Column, cells: Sequence[_Cell]) -> tuple[int, int, int]:
    """Give the widths of the means with their stars, of the deviations, and of the whole column."""
    starred = any(cell.star for cell in cells)  # then all means leave room for a star
    mean = max((cell_len(cell.text) for cell in cells), default=0) + starred
    sd = max((cell_len(cell.sd) for cell in cells), default=0)
    return mean, sd, max(cell_len(column.title), mean + (sd + 3 if sd else 0))


def _filled(column: _Column, cells: Sequence[_Cell]) -> list[Text]:
    """Fill up the title and the cells of a column to the same width, the numbers in line at their last digits."""
    mean, sd, width = _widths(column, cells)
    left = column.title in _LEFT
    starred = any(cell.star for cell in cells)
    filled = [Text(column.title.rjust(0 if left else mean).ljust(width if sd else 0), style="bold")]
    for cell in cells:
        text = cell.text + ("*" if cell.star else " " if starred else "")
        deviation = f" ± {cell.sd}" if cell.sd else ""
        before = "" if left else " " * (mean - cell_len(text))
        after = " " * (sd + 3 - cell_len(deviation)) if sd else ""
        style = f"{cell.style} bold" if cell.star else cell.style
        filled.append(Text.assemble(before, (text, style), (deviation, cell.style), after))
    for one in filled:
        missing = width - one.cell_len
        one.pad_right(missing) if left else one.pad_left(missing)
    return filled


def _overs(columns: Sequence[_Column], widths: Sequence[int]) -> list[Text]:
    """Give the line above the titles, if there is any."""
    if not any(column.over for column in columns):
        return []
    parts = []
    for over, spanned in groupby(range(len(columns)), key=lambda index: columns[index].over):
        across = [widths[index] for index in spanned]
        width = sum(across) + len(_GAP) * (len(across) - 1)
        parts.append(Text(f" {over} ".center(width, "─") if over else " " * width, style="dim"))
    return [_GAP.join(parts)]


def _in_ascii(line: Text) -> Text:
    plain = line.plain
    for sign, other in _ASCII.items():
        plain = plain.replace(sign, other)
    return Text(plain, spans=line.spans, style=line.style)


def _sizes(study: Study, runs: Runs) -> tuple[list[str], dict[StudyProblem, list[tuple[str, list[list[_Cell]]]]]]:
    """Give the names of the columns and, by problem and algorithm, a line for each population size that has runs."""
    found = [(*pair, efforts(study, runs, *pair)) for pair in study.pairs()]
    failed = any(effort.failed for _, _, of_pair in found for effort in of_pair)
    lines: dict[StudyProblem, list[tuple[str, list[list[_Cell]]]]] = {}
    for problem, algorithm, of_pair in found:
        known = outcomes(study, runs, problem, algorithm)
        cells = [_size_cells(one, known=None not in known[one.popsize].values(), failed=failed) for one in of_pair]
        if cells:
            lines.setdefault(problem, []).append((_one_line(algorithm.name), cells))
    return ["popsize", "solved", *(["failed"] if failed else []), "mean best", "evaluations", "CPU s"], lines


def _size_cells(effort: Effort, *, known: bool, failed: bool) -> list[_Cell]:
    return [
        _Cell(text=f"{effort.popsize:,}"),
        _Cell(text=f"{effort.solved if known else '?'}/{effort.runs}"),
        *([_Cell(text=f"{effort.failed:,}" if effort.failed else "", style="yellow")] if failed else []),
        _best(effort.best),
        _measured(effort.evaluations, _evaluations),
        _measured(effort.seconds, _seconds),
    ]


def _best(best: Measure | None) -> _Cell:
    if best is None:
        return _Cell(text=_NONE)
    return _Cell(text=f"{best.mean:.6g}", sd=f"{best.sd:.2g}" if math.isfinite(best.sd) else "")


# For documents


def _markdown_cells(row: Row, level: int, published: PublishedTable | None, again: bool) -> list[str]:
    block, entry = _block(row, level, published), row.entries[level]
    ours = block.ours[0]
    failed = row.failed if entry.effort is None else entry.effort.failed
    size = ours.label.text + (f" ({failed:,} failed)" if failed else "")
    paper = block.paper or _Line(label=_EMPTY)
    cells = [size, _markdown_cell(ours.evaluations)]
    cells += [_markdown_cell(paper.evaluations)] if published else []
    cells += [_markdown_cell(ours.seconds)]
    cells += [_markdown_cell(paper.seconds)] if published else []
    return [*cells, _markdown_again(entry.confirmed)] if again else cells


def _markdown_again(effort: Effort | None) -> str:
    if effort is None or not effort.runs:
        return "" if effort is None else _OPEN
    failed = f" ({effort.failed:,} failed)" if effort.failed else ""
    return f"{effort.solved}/{effort.runs}{failed}: {_markdown_cell(_effort_lines(effort, '')[0].evaluations)}"


def _markdown_cell(cell: _Cell) -> str:
    text = rf"**{cell.text}**\*" if cell.star else _marked_down(cell.text)
    return f"{text} ± {_marked_down(cell.sd)}" if cell.sd else text


def _marked_down(text: str) -> str:
    """Put a backslash before what Markdown would take for its own."""
    return re.sub(r"([\\`*_{}\[\]<>#|~$])", r"\\\1", _one_line(text))


def _markdown_table(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    rule = [":--" if name in _LEFT else "--:" for name in header]
    return "".join(f"| {' | '.join(line)} |\n" for line in (header, rule, *body))


def _pages(groups: Sequence[_Group]) -> Iterator[list[_Group]]:
    """Spread problems over pages."""
    page: list[_Group] = []
    for group in groups:
        if page and sum(len(one.lines) for one in (*page, group)) > _LINES_OF_A_PAGE:
            yield page
            page = []
        page.append(group)
    yield page


def _latex_page(groups: Sequence[_Group], caption: str) -> str:
    across = 5 * len(LEVELS)  # a popsize, and two numbers of two columns each
    ends = range(7, 3 + across, 5)
    numbers = [False, False, *[False, True, True] * len(LEVELS)]
    body = [[" & ".join(map(_latex_cells, line, numbers)) + r" \\" for line in group.lines] for group in groups]
    titles = " & ".join(["popsize", *(rf"\multicolumn{{2}}{{c}}{{{name}}}" for name in ("evaluations", "CPU s"))])
    return "\n".join(
        [
            r"\begin{table*}",
            r"\centering\scriptsize\setlength{\tabcolsep}{2.5pt}",
            r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{ll{'rr@{}lr@{}l' * len(LEVELS)}}}",
            r"\toprule",
            "& "
            + "".join(rf"& \multicolumn{{5}}{{c}}{{$\geq$ {level}\,\% of runs solved}} " for level in LEVELS)
            + r"\\",
            "".join(rf"\cmidrule(lr){{{end - 4}-{end}}}" for end in ends),
            " & ".join(["Problem", "Algorithm", *[titles] * len(LEVELS)]) + r" \\",
            *(line for lines in body for line in (r"\midrule", *lines)),
            r"\bottomrule",
            r"\end{tabular}}",
            rf"\caption{{{caption}}}",
            r"\end{table*}",
        ]
    )


def _latex_cells(cell: _Cell, numbers: bool) -> str:
    """Write a cell; numbers take two columns, so that they line up at the sign between them."""
    text = _escaped(cell.text + "*" * cell.star)
    text = rf"\textbf{{{text}}}" if cell.star else text
    text = rf"\textit{{{text}}}" if text and cell.style == "dim" else text
    sd = rf"\,$\pm${_escaped(cell.sd)}" if cell.sd else ""
    return f"{text} & {sd}" if numbers else text


def _escaped(text: str) -> str:
    escaped = _one_line(text).translate(str.maketrans(_LATEX))
    return re.sub("-(?=-)", "-{}", escaped)  # or two would become a dash


def _one_line(text: str) -> str:
    return " ".join(text.split())


# For other programs


def _flat(row: Row, level: int, published: PublishedTable | None) -> dict[str, object]:
    entry = row.entries[level]
    paper = None if published is None else published.get((row.problem.name, row.algorithm.name), {}).get(level)
    effort, again = entry.effort, entry.confirmed
    flat = {
        "problem": row.problem.name,
        "spec": _without_folder(row.problem.problem),
        "algorithm": row.algorithm.name,
        "level": level,
        "popsize": None if isinstance(entry.choice, Unsettled) else entry.choice,
        "unsettled": _unsettled(row, entry.choice),
        **{name: getattr(effort, name, None) for name in ("runs", "solved", "failed", "complete")},
        "failed_at_any_size": row.failed,
        **_flat_measures("", effort),
        **{f"confirmed_{name}": getattr(again, name, None) for name in ("runs", "solved")},
        **{name: value for name, value in _flat_measures("confirmed_", again).items() if not name.endswith("star")},
        **_flat_measures("published_", paper),
    }
    ours, theirs = flat["evaluations"], flat["published_evaluations"]
    if not is_theirs(row.problem) or not isinstance(ours, float) or not isinstance(theirs, float):
        return flat | {"ratio": None}
    return flat | {"ratio": ours / theirs}


def _unsettled(row: Row, choice: Choice) -> str | None:
    if not isinstance(choice, Unsettled):
        return None
    return "no optimum or target is known" if not row.judged and choice is Unsettled.NONE else choice.value


def _flat_measures(
    prefix: str,
    of: Effort | Published | None,
    names: Sequence[str] = ("evaluations", "seconds"),
    parts: Sequence[str] = ("mean", "sd", "star"),
) -> dict[str, object]:
    ends = {"mean": "", "sd": "_sd", "star": "_star"}
    return {
        f"{prefix}{name}{ends[part]}": getattr(getattr(of, name, None), part, None) for name in names for part in parts
    }

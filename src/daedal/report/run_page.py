"""The page of a run."""

from __future__ import annotations

from daedal.limits import StopReason
from daedal.report.answer import answer, failures, head, settings, top
from daedal.report.learned import bit_order, entropy, importance, linkage_section, population
from daedal.report.markup import paragraph
from daedal.report.page import Page, Section
from daedal.report.progress import effort, progress, training
from daedal.result import Result
from daedal.result.variables import believed_linkage, learned_linkage, variables_of
from daedal.result.wording import problem_text


def run_page(result: Result, *, quick: bool = False) -> Page:
    """Lay out the page of a run: the answer first, then how it went, then what was learned.

    A quick page of a run that goes on shows what the search believes, and does not take its rows to pieces.

    Examples
    --------
    >>> import daedal
    >>> page = run_page(daedal.maximize(lambda x: x.sum(axis=1), n=8, algorithm="umda", seed=1))
    >>> [section.name for section in page.sections][:2]
    ['answer', 'progress']
    """
    variables = variables_of(result)
    believed = believed_linkage(result, variables)
    hurried = quick and result.stop is StopReason.UNFINISHED
    linkage = believed if hurried else learned_linkage(result, variables)
    order = bit_order(linkage, variables)
    sections = [
        answer(result),
        progress(result),
        effort(result),
        entropy(result, variables, order),
        population(result, variables, order),
        training(result),
        linkage_section(result, linkage, believed, variables),
        importance(result, variables),
        top(result),
        failures(result),
        settings(result),
    ]
    found = [section for section in sections if section is not None]
    if result.trace is None:
        said = "Nothing more is known: what the search looked like on the way was not kept."
        found.insert(-1, Section("unknown", "What was learned", [paragraph(said, kind="soft")]))
    return Page(title=f"{problem_text(result) or 'A run'}: {result.algorithm}", head=head(result), sections=found)

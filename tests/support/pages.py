"""The pages of README and docs as tests see them: their fenced blocks, their headings, their links."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted(DOCS.rglob("*.md"))]

RUN = {"python", "sh"}
"""Languages of blocks that are run, unless they have a title: then they are files, as blocks of any other language."""
OUTPUT = "text"
"""Language of a block that is what the block before it prints."""
_FENCE = re.compile(r"^```(\w*)(?: title=\"([^\"]+)\")?\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
_EXCUSE = re.compile(r"<!-- not run: (.+) -->\n\Z")
_LINK = re.compile(r"\]\(([^)\s]+)\)")


@dataclass(frozen=True, kw_only=True)
class Block:
    """One fenced block of a page."""

    language: str
    title: str  # the file that it is, or ""
    text: str
    line: int
    excuse: str  # why it is not run, or ""

    @property
    def is_run(self) -> bool:
        return self.language in RUN and not self.title and not self.excuse


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks_of(page: Path) -> list[Block]:
    """Give the fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            language=found[1],
            title=found[2] or "",
            text=found[3],
            line=text.count("\n", 0, found.start()) + 1,
            excuse=excuse[1] if (excuse := _EXCUSE.search(text[: found.start()])) else "",
        )
        for found in _FENCE.finditer(text)
    ]


def prose_of(page: Path) -> str:
    """Give a page without its fenced blocks and code spans."""
    return re.sub(r"`[^`\n]*`", "", _FENCE.sub("", page.read_text(encoding="utf-8")))


def links_of(page: Path) -> list[str]:
    return _LINK.findall(prose_of(page))


def anchors_of(page: Path) -> set[str]:
    """Give what can stand behind # in a link to a page: its headings, as the site names them."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE):
        plain = unicodedata.normalize("NFKD", re.sub(r"[`*]", "", heading)).encode("ascii", "ignore").decode()
        found.add(re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower()))
    return found

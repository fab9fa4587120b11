"""Take the picture of a report: python docs/images/report.py, which needs Chromium.

The page is that of `daedal solve trap:k=5,n=50 -a dae --seed 1`; the picture has its most telling parts, side by side.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "support"))

from browser import chromium  # noqa: E402  found only now
from PIL import Image  # noqa: E402  comes with matplotlib

import daedal  # noqa: E402

WIDTH, MARGIN = 1160, 40
SECTIONS = (("solution", "progress"), ("interactions",))


def main() -> None:
    """Write report.png next to this file."""
    result = daedal.maximize("trap:k=5,n=50", algorithm="dae", seed=1)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        page, whole = Path(folder) / "report.html", Path(folder) / "whole.png"
        result.report(page)
        tab = browser.open(page.as_uri(), width=WIDTH, offline=True)
        tab.screenshot(whole)
        boxes = {
            name: tab.value(
                f"(({{top, bottom}}) => [top, bottom])(document.getElementById('{name}').getBoundingClientRect())"
            )
            for names in SECTIONS
            for name in names
        }
        picture = Image.open(io.BytesIO(whole.read_bytes())).convert("RGB")
    columns = [picture.crop((0, 0 if at == 0 else _edge(boxes, names[0], 0), WIDTH, _edge(boxes, names[-1], 1)))
               for at, names in enumerate(SECTIONS)]  # fmt: skip
    both = Image.new("RGB", (WIDTH * len(columns), max(one.height for one in columns)), "white")
    for at, one in enumerate(columns):
        both.paste(one, (WIDTH * at, 0))
    both.quantize(256).save(HERE / "report.png", optimize=True)


def _edge(boxes: dict[str, list[float]], name: str, which: int) -> int:
    return round(boxes[name][which])


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""A program for a search space: reads one JSON object per line, prints one number.

The variables are those of build.toml. The number is the time of an imaginary build, so
smaller is better:

    cd examples/external
    daedal solve "cmd:python3 build.py" --space build.toml --minimize
"""

import json
import sys

SECONDS = {"-O0": 9.0, "-O2": 5.0, "-O3": 4.6}
"""Seconds of one job, by optimization level."""


def seconds(
    level: str,
    threads: int,
    lto: bool,
    passes: list[str],
    order: list[str],
) -> float:
    """Return the time of a build."""
    one = SECONDS[level] + 0.8 * lto - 0.4 * ("inline" in passes)
    one -= 0.3 * ("unroll" in passes and level == "-O3")
    place = {job: order.index(job) for job in order}
    waiting = (place["parse"] > place["check"]) + (place["check"] > place["link"])
    return one / threads**0.5 + 0.05 * threads + 0.2 * waiting


for line in sys.stdin:
    print(seconds(**json.loads(line)), flush=True)

"""From a journal of lines that came by each way to how soon, how whole and to whom (A-OT3)."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from avadm_validation.measuring.extract import Inputs, Params, extractor
from avadm_validation.suites.platform.extract import Line, lines, of


def parse_line(text: str) -> tuple[int, float] | None:
    """Return number and time of a line that the program has written; None for another line."""
    words = text.split()
    if len(words) != 3 or words[0] != "line":
        return None
    try:
        return int(words[1]), float(words[2])
    except ValueError:
        return None


def _came(inputs: Inputs, params: Params) -> tuple[list[Line], float]:
    """Return the lines that came by a way, and when it was opened; ValueError where it was not."""
    found = lines(inputs)
    opened = [float(x["t"]) for x in of(found, "opened", way=params["way"])]
    if not opened:
        raise ValueError("it was not opened")
    return list(of(found, "line", way=params["way"])), opened[0]


def _behind(line: Line, opened: float, offset: float) -> float:
    """Return how long a line that was written, and asked for, was on its way; the node's clock is ``offset`` before ours."""
    return max(0.0, float(line["t"]) - max(float(line["said"]) - offset, opened))


@extractor()
def ava_log_first(inputs: Inputs, params: Params) -> float:
    """Return the seconds until the first line was there, from its writing or from the asking, whichever was later."""
    came, opened = _came(inputs, params)
    return _behind(came[0], opened, float(params["offset"])) if came else math.nan


@extractor()
def ava_log_behind(inputs: Inputs, params: Params) -> float:
    """Return the longest time, seconds, that a line took."""
    came, opened = _came(inputs, params)
    return max(_behind(x, opened, float(params["offset"])) for x in came) if came else math.nan


@extractor()
def ava_log_wrong(inputs: Inputs, params: Params) -> float:
    """Return how many of ``lines`` lines are missing, came twice or before an earlier one."""
    numbers: list[Any] = [x["n"] for x in _came(inputs, params)[0]]
    wanted = set(range(int(float(params["lines"]))))
    early = sum(b < a for a, b in pairwise(numbers))
    return float(len(wanted - set(numbers)) + len(numbers) - len(set(numbers)) + early)


@extractor()
def ava_log_others(inputs: Inputs, params: Params) -> float:
    """Return by how many ways somebody else read the log; NaN where none was tried."""
    tried = list(of(lines(inputs), "other"))
    return float(sum(x["got"] for x in tried)) if tried else math.nan


@extractor()
def ava_log_page(inputs: Inputs, params: Params) -> float:
    """Return 1 if the run's page was there and shows its log, else 0; NaN where it was not observed."""
    seen = list(of(lines(inputs), "page"))
    return float(all(x["status"] == 200 and x["shows"] for x in seen)) if seen else math.nan

"""From a journal of starts and changed default groups to who was charged (A-OT1): pure, and again by ``verify``."""

from __future__ import annotations

import math

from avadm_validation.measuring.extract import Inputs, Params, extractor
from avadm_validation.suites.platform.extract import Line, lines, of
from avadm_validation.suites.platform.journal import ENDED


def _may_be(found: list[Line], begun: float, ended: float) -> set[str]:
    """Return the groups that were the default at some moment from ``begun`` to ``ended``.

    A change is made at some moment of its request, which nobody knows.
    """
    changes = list(of(found, "default"))
    may = set()
    for change, following in zip(changes, [*changes[1:], None], strict=True):
        last = math.inf if following is None else following["until"]
        if change["t"] < ended and last > begun:
            may.add(change["to"])
    return may


@extractor()
def ava_charged_elsewhere(inputs: Inputs, params: Params) -> float:
    """Return how many runs were charged to a group that was not the default while they were started; NaN for none started."""
    found = lines(inputs)
    made = list(of(found, "start"))
    if not made:
        return math.nan
    return float(sum(x["group"] not in _may_be(found, x["t"], x["until"]) for x in made))


@extractor()
def ava_moved(inputs: Inputs, params: Params) -> float:
    """Return how many runs were seen in another group than that in which they were started; NaN for none."""
    found = lines(inputs)
    made = {x["run"]: x["group"] for x in of(found, "start")}
    later = {x["run"] for x in of(found, "seen") if x["run"] in made and x["group"] != made[x["run"]]}
    return float(len(later)) if made else math.nan


@extractor()
def ava_over_quota(inputs: Inputs, params: Params) -> float:
    """Return how often a group was seen with more than its quota; NaN where none was ever seen with all of it.

    That a group is never full would prove nothing.
    """
    seen = list(of(lines(inputs), "group"))
    full = [x for x in seen if x["quota"] - x["used"] < params["each"]]
    return float(sum(x["used"] > x["quota"] for x in seen)) if full else math.nan


@extractor()
def ava_waited(inputs: Inputs, params: Params) -> float:
    """Return how many runs were seen queued while their group was full."""
    return float(len({x["run"] for x in of(lines(inputs), "quiet-queued")}))


@extractor()
def ava_differing(inputs: Inputs, params: Params) -> float:
    """Return how many groups, with nothing changing, were charged for other than what was admitted; NaN for none seen.

    A run asks for ``each`` thousandths of a core.
    """
    found = lines(inputs)
    quiet = list(of(found, "quiet"))
    if not quiet:
        return math.nan
    return float(sum(x["used"] != x["admitted"] * params["each"] for x in quiet))


@extractor()
def ava_left_charged(inputs: Inputs, params: Params) -> float:
    """Return how many groups are charged for something after all runs have ended; NaN where not all have, or nobody looked."""
    found = lines(inputs)
    states = {x["run"]: x["state"] for x in of(found, "seen")}
    ends = list(of(found, "end"))
    if not ends or any(state not in ENDED for state in states.values()):
        return math.nan
    return float(sum(x["used"] != 0 for x in ends))

"""From journals of stops to how long GPUs were away (A-SC2): pure, and again by ``verify``."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from avadm_validation.measuring.extract import Inputs, Params, extractor
from avadm_validation.protocol.stats import percentile
from avadm_validation.suites.platform.extract import Line, lines, of


@dataclass
class HeldRun:
    """A run with its card.

    Attributes:
        running: when it was first seen running; inf for never.
        stop: when its end was asked for; inf for never.
        card: what its program reported of its cards, with its node; "" where nothing is known.
    """

    running: float = math.inf
    stop: float = math.inf
    card: str = ""


@dataclass(frozen=True)
class Stop:
    """One stop.

    Attributes:
        kind: of the lanes.
        seconds: until the next run was running on the same card; infinity where none was in the time waited.
        reported: whether the platform had named the cause, and given up what was on a dead node, before it was fixed.
    """

    kind: str
    seconds: float
    reported: bool


def holders(found: list[Line]) -> dict[str, HeldRun]:
    """Return each run of the journals; those that no one has stopped are ended after the ``over`` of their journal."""
    runs = {line["run"]: HeldRun() for line in of(found, "start")}
    nodes = {p["run"]: p["node"] for p in of(found, "pod") if p["node"]}
    for line in found:
        if line["do"] == "seen" and line["state"] == "running":
            held = runs[line["run"]]
            held.running = min(held.running, line["t"])
        elif line["do"] == "stop":
            runs[line["run"]].stop = line["t"]
        elif line["do"] == "over":
            for run in line["runs"]:
                runs[run].stop = min(runs[run].stop, line["t"])
        elif line["do"] == "log":
            messages = [x.removeprefix("cards ").strip() for x in line["lines"] if x.startswith("cards ")]
            if messages and messages[0]:
                runs[line["run"]].card = f"{nodes.get(line['run'], '')} {messages[0]}"
    return runs


def stops(found: list[Line]) -> list[Stop]:
    """Return all stops in order of time.

    The next run on the card is the first that says it has the same one. Where the stopped run's card is not known (its log did
    not arrive), it is the run that was started to take its place, which could have no other: the rest of the node was full.
    """
    runs, done = holders(found), []
    reports = {line["run"] for line in of(found, "told")}
    given_up = {line["run"] for line in of(found, "given-up")}
    for line in of(found, "stop"):
        if "kind" not in line:
            continue
        own, at = runs[line["run"]], line["t"]
        if own.card:
            after = [r.running for r in runs.values() if r.card == own.card and r.running > at]
            nothing_known = runs.get(line["next"], HeldRun())
            if not after and not nothing_known.card:
                after = [nothing_known.running]
        else:
            after = [runs.get(line["next"], HeldRun()).running]
        first = min(after, default=math.inf)
        seconds = first - at if first > at else math.inf
        well = line["run"] in reports and (line["kind"] != "dead" or line["run"] in given_up)
        done.append(Stop(line["kind"], seconds, well))
    return done


@extractor()
def ava_freed(inputs: Inputs, params: Params) -> float:
    """Return the seconds of stop number ``stop``; infinity where nothing ran on its GPU in the time waited."""
    return stops(lines(inputs))[int(float(params["stop"]))].seconds


@extractor()
def ava_freed_q(inputs: Inputs, params: Params) -> float:
    """Return the quantile ``q`` (nearest rank) of the seconds of all stops of ``kinds``."""
    kinds = str(params["kinds"]).split(",")
    seconds = [s.seconds for s in stops(lines(inputs)) if s.kind in kinds]
    if not seconds or any(map(math.isnan, seconds)):
        return math.nan
    return percentile(Counter(seconds), float(params["q"]))


@extractor()
def ava_untold(inputs: Inputs, params: Params) -> float:
    """Return how many stops of ``kinds`` the platform itself had not reported the cause of, or given up, before it was fixed."""
    kinds = str(params["kinds"]).split(",")
    return float(sum(s.kind in kinds and not s.reported for s in stops(lines(inputs))))


@extractor()
def ava_doubly_held(inputs: Inputs, params: Params) -> float:
    """Return how often two runs had one card at a time: between being seen running and the stop."""
    found = sorted(
        (r.card, r.running, r.stop)
        for r in holders(lines(inputs)).values()
        if r.card and r.running < math.inf
    )
    return float(sum(a[0] == b[0] and b[1] < a[2] for a, b in pairwise(found)))


@extractor()
def ava_unknown_cards(inputs: Inputs, params: Params) -> float:
    """Return how many runs that ran have not reported which cards they have."""
    return float(sum(not r.card and r.running < math.inf for r in holders(lines(inputs)).values()))

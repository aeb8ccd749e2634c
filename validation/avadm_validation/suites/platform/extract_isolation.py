"""From what containers and controls reported of attacks and of their cards to numbers (A-SC3, A-SC6)."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from avadm_validation.measuring.extract import Inputs, Params, extractor
from avadm_validation.suites.platform.extract import lines, of

CARD = re.compile(r"/dev/nvidia(\d+)")
LISTED = re.compile(r"UUID: (GPU-[^)\s]+)\)")
_FIELD = re.compile(r"^(GPU UUID|Device Minor):\s*(\S+)", re.M)


def _lines(inputs: Inputs, group: str) -> list[dict[str, Any]]:
    texts = [line for text in inputs[group] for line in text.split("\n") if line.startswith('{"id"')]
    return [json.loads(line) for line in texts]


def _ended(tried: dict[str, Any]) -> bool:
    """Return whether an attack came to its end; one that was killed shows nothing."""
    return bool(tried.get("ended", True))


def _tries(inputs: Inputs, group: str, row: str) -> list[dict[str, Any]]:
    return [tried for tried in _lines(inputs, group) if tried["id"] == row and _ended(tried)]


@extractor()
def ava_way_in(inputs: Inputs, params: Params) -> float:
    """Return 1 if the attack ``row`` got through from a container, else 0.

    NaN where it was not tried, or its control (group ``control``) did not get through either: then the row shows nothing.
    ``sometimes``: 1 where nothing need listen.
    """
    tried, control = (_tries(inputs, group, str(params["row"])) for group in ("tried", "control"))
    if not tried:
        return math.nan
    got = any(x["open"] for x in tried)
    shown = any(x["open"] for x in control) or bool(params.get("sometimes"))
    return float(got) if shown or got else math.nan


@extractor()
def ava_ways_in(inputs: Inputs, params: Params) -> float:
    """Return how many of the attacks ``rows`` (separated by commas) got through; NaN where one was not tried."""
    tried = [_tries(inputs, "tried", row) for row in str(params["rows"]).split(",")]
    return float(sum(any(x["open"] for x in one) for one in tried)) if all(tried) else math.nan


def assigned(inputs: Inputs, run: str) -> dict[int, str]:
    """Return the cards that kubelet gave a run's pods, number to UUID, on the node of the group ``cards``."""
    checkpoint, _, report = inputs["cards"][0].partition("\n--\n")
    pods = [p for text in inputs["table"] for p in json.loads(text)["items"]]
    mine = {p["metadata"]["uid"] for p in pods if p["metadata"]["labels"]["ava.io/run"] == run}
    if not mine:
        raise ValueError(f"no pod of {run}")
    fields = [m.groups() for m in _FIELD.finditer(report)]
    uuids = [value for name, value in fields if name == "GPU UUID"]
    minors = [int(value) for name, value in fields if name == "Device Minor"]
    known = dict(zip(uuids, minors, strict=True))
    doc = json.loads(checkpoint)
    entries = doc.get("Data", doc).get("PodDeviceEntries") or []
    ids = [i.partition("::")[0] for e in entries if e["PodUID"] in mine for i in e["DeviceIDs"]]
    return {known[uuid]: uuid for uuid in ids}


def has(inputs: Inputs) -> tuple[set[int], set[str], set[int]] | None:
    """Return what a container reported of its cards: device files, UUIDs, those that a device file of its own making opens.

    None where a look was killed before its end.
    """
    looks = [tried for tried in _lines(inputs, "said") if tried["id"].startswith("look-")]
    if not {"look-cards", "look-listed"} <= {tried["id"] for tried in looks}:
        raise ValueError("no report of cards")
    if not all(map(_ended, looks)):
        return None
    through = [(tried["id"], str(tried["said"])) for tried in looks if tried["open"]]
    files = {int(n) for row, text in through if row == "look-cards" for n in CARD.findall(text)}
    uuids = {u for row, text in through if row == "look-listed" for u in LISTED.findall(text)}
    return files, uuids, {int(row.rpartition("-")[2]) for row, _ in through if row.startswith("look-open-")}


@extractor()
def ava_cards_differ(inputs: Inputs, params: Params) -> float:
    """Return by how many cards what a container of ``run`` has differs from what kubelet gave it: device files and UUIDs."""
    own = assigned(inputs, str(params["run"])) if params["gpu"] else {}
    report = has(inputs)
    if report is None or len(own) != params["gpu"]:
        return math.nan
    seen, uuids, _ = report
    return float(len(seen ^ set(own)) + len(uuids ^ set(own.values())))


@extractor()
def ava_cards_opened(inputs: Inputs, params: Params) -> float:
    """Return how many cards that are not its own a container of ``run`` opens by a device file of its own making."""
    own = assigned(inputs, str(params["run"])) if params["gpu"] else {}
    report = has(inputs)
    return float(len(report[2] - set(own))) if report is not None else math.nan


@extractor()
def ava_cards_shared(inputs: Inputs, params: Params) -> float:
    """Return how many cards two of the runs (``runs``, separated by commas) have."""
    given = [assigned(inputs, run) for run in str(params["runs"]).split(",")]
    every = [card for one in given for card in one]
    return float(len(every) - len(set(every))) if all(given) else math.nan


@extractor()
def ava_said_all(inputs: Inputs, params: Params) -> float:
    """Return how often a run that says which GPUs it wants to see was taken; NaN where none was tried."""
    named = [
        x for x in lines(inputs) if x["do"] in ("start", "refused") and x.get("name") == params["called"]
    ]
    return float(len(list(of(named, "start")))) if named else math.nan

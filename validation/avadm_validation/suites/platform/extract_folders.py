"""From what a container told of the folders of its user's groups to numbers (A-OT2)."""

from __future__ import annotations

import json
import math
from typing import Any

from avadm_validation.measuring.extract import Inputs, Params, extractor
from avadm_validation.suites.platform.extract import lines, of

MODE = 0o2770
"""Of a group's folder: its members', and new files are the group's."""


def _told(inputs: Inputs, params: Params) -> tuple[dict[str, Any], dict[str, int]]:
    """Return what the container of the start ``called`` told, and the user's groups then with their gids."""
    found = lines(inputs)
    (made,) = of(found, "start", name=params["called"])
    messages = [
        json.loads(text) for x in of(found, "log", run=made["run"]) for text in x["lines"] if text[:1] == "{"
    ]
    return messages[0], dict(made["wanted"])


@extractor()
def ava_folders_lacking(inputs: Inputs, params: Params) -> float:
    """Return how many of the user's groups have no folder there, or none that is written to and read."""
    reply, wanted = _told(inputs, params)
    return float(sum(reply["each"].get(group, {}).get("read") != reply["mark"] for group in wanted))


@extractor()
def ava_folders_foreign(inputs: Inputs, params: Params) -> float:
    """Return how many folders of groups are there, or can be looked into, that are none of the user's."""
    reply, wanted = _told(inputs, params)
    return float(len({*reply["there"], *reply["opened"]} - set(wanted)))


@extractor()
def ava_folders_rights(inputs: Inputs, params: Params) -> float:
    """Return how many of the user's groups have a folder with other rights than the group's members'."""
    reply, wanted = _told(inputs, params)
    good = {
        g: x.get("mode") == MODE and x.get("gid") == wanted[g]
        for g, x in reply["each"].items()
        if g in wanted
    }
    return float(sum(not good.get(group) for group in wanted)) if wanted else math.nan


@extractor()
def ava_folders_lost(inputs: Inputs, params: Params) -> float:
    """Return in how many groups' folders the file is not there that the container of the start ``before`` wrote."""
    reply, wanted = _told(inputs, params)
    before, _ = _told(inputs, {"called": params["before"]})
    return float(sum(reply["each"].get(group, {}).get("found") != before["mark"] for group in wanted))

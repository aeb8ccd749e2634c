"""How many lines a store lacks, and how late they come: from what nodes wrote and what tools/logread.py saw."""

from __future__ import annotations

import json

from avadm_validation.measuring.extract import Inputs, Params, extractor


def _wanted(inputs: Inputs) -> list[str]:
    lines = [line.strip() for text in inputs["wanted"] for line in text.split("\n") if line.strip()]
    if not lines:
        raise ValueError("nothing was written")
    return lines


@extractor()
def log_missing(inputs: Inputs, params: Params) -> float:
    """Return how many of the lines that nodes wrote are not in the stores that were read, summed over stores."""
    found = [json.loads(text)["found"] for text in inputs["found"]]
    if not found:
        raise ValueError("no store was read")
    return float(sum(line not in store for store in found for line in _wanted(inputs)))


@extractor()
def log_latest(inputs: Inputs, params: Params) -> float:
    """Return the seconds after which the last line was seen; one that is missing counts as ``wait_s``."""
    wait = float(params["wait_s"])
    found = [json.loads(text)["found"] for text in inputs["found"]]
    return max(float(store.get(line, wait)) for store in found for line in _wanted(inputs))

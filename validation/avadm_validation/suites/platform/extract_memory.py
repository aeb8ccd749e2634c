"""From journals of what took too much memory and of its neighbour to numbers (A-SC4, A-SC5)."""

from __future__ import annotations

import json
import math

from avadm_validation.measuring.extract import Inputs, Params, extractor
from avadm_validation.suites.platform.extract import lines, of


def _said(inputs: Inputs, group: str = "journal") -> list[str]:
    """Return what the run has logged; ValueError for nothing."""
    found = [text for line in of(lines(inputs, group), "log") for text in line["lines"]]
    if not found:
        raise ValueError("nothing was logged")
    return found


@extractor()
def ava_child_killed(inputs: Inputs, params: Params) -> float:
    """Return 1 if the process that took too much was ended by SIGKILL, else 0; NaN where its parent does not say."""
    ends = [text.split()[1] for text in _said(inputs) if text.startswith("child ")]
    return float(ends[0] == "-9") if ends else math.nan


@extractor()
def ava_lived_on(inputs: Inputs, params: Params) -> float:
    """Return 1 if its parent continued afterwards, in the same pod, which runs and was never replaced, else 0."""
    reply, pods = _said(inputs), list(of(lines(inputs), "pod"))
    end = next((i for i, text in enumerate(reply) if text.startswith("child ")), len(reply))
    on = any(text.startswith("alive ") for text in reply[end:])
    well = bool(pods) and pods[-1]["phase"] == "Running" and not any(p["restarts"] for p in pods)
    return float(on and well)


@extractor()
def ava_restarted(inputs: Inputs, params: Params) -> float:
    """Return how often its pod was started again."""
    pods = list(of(lines(inputs), "pod"))
    return float(max(p["restarts"] for p in pods)) if pods else math.nan


@extractor()
def ava_explained(inputs: Inputs, params: Params) -> float:
    """Return 1 if the platform said that its memory was the cause, else 0."""
    return float(any(p["reason"] == "OOMKilled" for p in of(lines(inputs), "pod")))


@extractor()
def ava_neighbour(inputs: Inputs, params: Params) -> float:
    """Return 1 if the neighbour runs, and was never replaced, else 0; NaN where nobody looked."""
    pods = list(of(lines(inputs, "neighbour"), "pod"))
    return float(all(p["phase"] == "Running" and not p["restarts"] for p in pods)) if pods else math.nan


@extractor()
def ava_pause(inputs: Inputs, params: Params) -> float:
    """Return the longest time, milliseconds, in which the neighbour did nothing."""
    reports = [json.loads(text) for text in _said(inputs, "neighbour") if text.startswith("{")]
    return max(float(x["worst_gap_s"]) for x in reports) * 1000

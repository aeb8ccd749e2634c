"""Numbers from fio's JSON."""

from __future__ import annotations

import math
from typing import Any

from avadm_validation.measuring.extract import Inputs, Params, at, document, extractor


def _jobs(text: str, name: str) -> list[dict[str, Any]]:
    return [j for j in document(text).get("jobs", []) if j.get("jobname") == name and not j.get("error")]


@extractor()
def fio_seconds(inputs: Inputs, params: Params) -> float:
    """Return the shortest run time of a fio job over the clients, seconds."""
    found = [
        float(j[str(params["side"])]["runtime"]) / 1000
        for text in inputs.get("clients", [])
        for j in _jobs(text, str(params["job"]))
    ]
    return min(found, default=math.nan)


@extractor(seconds=fio_seconds)
def fio(inputs: Inputs, params: Params) -> float:
    """Return the sum over clients of a fio job's number: ``job``, ``side`` (read, write), ``field``."""
    total = 0.0
    for text in inputs.get("clients", []):
        jobs = _jobs(text, str(params["job"]))
        if not jobs:
            return math.nan
        total += math.fsum(float(j[str(params["side"])][str(params["field"])]) for j in jobs)
    return total if inputs.get("clients") else math.nan


@extractor(seconds=fio_seconds)
def fio_latency(inputs: Inputs, params: Params) -> float:
    """Return the worst client's 99th percentile completion latency of a fio job, milliseconds."""
    found = [
        float(at(j, f"{params['side']}.clat_ns.percentile").get("99.000000", math.nan)) / 1e6
        for text in inputs.get("clients", [])
        for j in _jobs(text, str(params["job"]))
        if at(j, f"{params['side']}.clat_ns.percentile")
    ]
    return max(found, default=math.nan)

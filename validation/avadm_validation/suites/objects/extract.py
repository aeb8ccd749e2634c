"""Numbers of the objects suite from raw text: what `s3client.py` printed.

Groups: ``doc`` one document, ``clients`` one document of each client. What is missing counts as bad; NaN where the raw
text is no document at all.
"""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

from avadm_validation.measuring.extract import Inputs, Params, extractor

REFUSED = 403


def _doc(inputs: Inputs) -> Any:
    return json.loads(inputs["doc"][0])


def _clients(inputs: Inputs) -> list[Any]:
    found = [json.loads(text) for text in inputs["clients"]]
    if not found:
        raise ValueError("no node was asked")
    return found


@extractor()
def s3_answered(inputs: Inputs, params: Params) -> float:
    """Return how many clients the store answered, in parts of all ``of``; one that it did not answer has no document."""
    return sum(bool(json.loads(text)["boto3"]) for text in inputs["clients"]) / float(params["of"])


@extractor()
def s3_wrong(inputs: Inputs, params: Params) -> float:
    """Return how many objects were not read as they were written; NaN for none written."""
    doc = _doc(inputs)
    if not doc["wanted"]:
        return math.nan
    return float(sum(doc["got"].get(key) != wanted for key, wanted in doc["wanted"].items()))


@extractor()
def s3_listed(inputs: Inputs, params: Params) -> float:
    """Return how many keys a listing lacks, has more than there are, or has twice."""
    doc = _doc(inputs)
    listed, wanted = doc["listed"], set(doc["wanted"])
    return float(len(wanted ^ set(listed)) + len(listed) - len(set(listed)))


@extractor()
def s3_left(inputs: Inputs, params: Params) -> float:
    """Return how many removed objects are still listed or can still be read."""
    doc = _doc(inputs)
    return float(len(doc["left"]) + (doc["read_deleted"] != "NoSuchKey"))


@extractor()
def s3_multipart(inputs: Inputs, params: Params) -> float:
    """Return 1 if an object of at least ``bytes`` in three or more parts was read as it was written, else 0."""
    found = _doc(inputs)["multipart"]
    same = found["got"] == found["wanted"] and found["bytes"] >= float(params["bytes"])
    return float(same and found["parts"] >= 3)


@extractor()
def s3_versions(inputs: Inputs, params: Params) -> float:
    """Return how many of four things about former versions hold.

    The last content is the object's; once removed it cannot be read; both contents can, by their versions.
    """
    found = _doc(inputs)["versions"]
    held = [found["latest"] == found["wanted"][-1], found["deleted"] == "NoSuchKey"]
    held += [a == b for a, b in zip(found["got"], found["wanted"], strict=True)]
    return float(sum(held))


@extractor()
def s3_refused(inputs: Inputs, params: Params) -> float:
    """Return the share of the attempts without the right key that were refused as such; NaN for none made."""
    answers = [a for name, a in _doc(inputs)["answers"].items() if name != "right key"]
    return sum(a["status"] == REFUSED for a in answers) / len(answers) if answers else math.nan


@extractor()
def s3_admitted(inputs: Inputs, params: Params) -> float:
    """Return 1 if the right key reads its own object, else 0."""
    return float(_doc(inputs)["answers"]["right key"]["status"] == 200)


@extractor()
def s3_plain(inputs: Inputs, params: Params) -> float:
    """Return 1 if a request without TLS was served, else 0; that TLS is wanted (400) is no service."""
    return float(200 <= _doc(inputs)["plain"]["status"] < 400)


@extractor()
def s3_quota_refused(inputs: Inputs, params: Params) -> float:
    """Return 1 if a write was refused for the quota, and what is there can be read, else 0."""
    doc = _doc(inputs)
    return float(doc["code"] == "QuotaExceeded" and bool(doc["readable"]))


@extractor()
def s3_quota_used(inputs: Inputs, params: Params) -> float:
    """Return the bytes that were taken, in parts of the quota."""
    doc = _doc(inputs)
    return float(doc["accepted"] / doc["quota"])


def s3_seconds(inputs: Inputs, params: Params) -> float:
    """Return how long the shortest client worked, seconds."""
    return min(float(d["seconds"]) for d in _clients(inputs))


@extractor(seconds=s3_seconds)
def s3_rate(inputs: Inputs, params: Params) -> float:
    """Return bytes per second of all clients together."""
    docs = _clients(inputs)
    return float(sum(len(d["done_ms"]) * d["size"] / d["seconds"] for d in docs))


@extractor()
def s3_errors(inputs: Inputs, params: Params) -> float:
    """Return how many operations failed for good, or never ended; NaN where a client did none."""
    docs = _clients(inputs)
    if not all(d["done_ms"] for d in docs):
        return math.nan
    return float(sum(len(d["errors"]) + d["hanging"] for d in docs))


@extractor()
def s3_read_wrong(inputs: Inputs, params: Params) -> float:
    """Return how many objects were read with another content than was written; NaN where a client did nothing."""
    docs = _clients(inputs)
    if not all(d["done_ms"] for d in docs):
        return math.nan
    return float(sum(d["wrong"] for d in docs))


@extractor()
def s3_pause(inputs: Inputs, params: Params) -> float:
    """Return the longest time, seconds, in which a client completed nothing; NaN where one did nothing."""
    worst = 0.0
    for doc in _clients(inputs):
        if not doc["done_ms"]:
            return math.nan
        marks = [0, *doc["done_ms"], max(doc["done_ms"][-1], int(doc["seconds"] * 1000))]
        worst = max(worst, *(b - a for a, b in pairwise(marks)))
    return worst / 1000


@extractor()
def s3_states(inputs: Inputs, params: Params) -> float:
    """Return 1 if the unit was in the state ``before`` the end of its outage, and in ``after`` it, else 0."""
    found = [text.split() for text in inputs["states"]]
    return float(found == [[params["before"]], [params["after"]]])


@extractor()
def s3_today(inputs: Inputs, params: Params) -> float:
    """Return 1 if a program of today read what it wrote and was refused nothing, else 0."""
    doc = _doc(inputs)
    whole = bool(doc["wanted"]) and doc["got"] == doc["wanted"] and doc["listed"] == sorted(doc["wanted"])
    return float(whole and not doc["error"])

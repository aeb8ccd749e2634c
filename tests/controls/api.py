"""Faults of the Kubernetes API, planted as raw data as those of `kubernetes.py`."""

from tests.controls.fault import Fault

FAULTS = (
    Fault(
        "slow-api",
        "two of a hundred changes take 3 s",
        "K-API",
        ("write-p99",),
        lambda c: c.writes.__setitem__(slice(0, 5), [3.0] * 5),
    ),
    Fault(
        "slow-get",
        "two of a hundred reads of one object take 3 s",
        "K-API",
        ("get-p99",),
        lambda c: c.gets.__setitem__(slice(0, 2), [3.0] * 2),
    ),
    Fault(
        "slow-list",
        "two of a hundred lists take 3 s",
        "K-API",
        ("list-p99",),
        lambda c: c.lists.__setitem__(slice(0, 2), [3.0] * 2),
    ),
    Fault(
        "few-requests",
        "the API answers 15 requests in the time of five hundred",
        "K-API",
        ("requests",),
        lambda c: [times.__delitem__(slice(5, None)) for times in (c.writes, c.gets, c.lists)],
    ),
    Fault(
        "api-errors",
        "a request is answered with an error",
        "K-API",
        ("errors",),
        lambda c: c.api_errors.append("GET /x: 500 etcd"),
    ),
)

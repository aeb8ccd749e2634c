"""Figures about the API, for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from ava import build

REGISTRY = CollectorRegistry()
build.publish(REGISTRY)
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 2.5, 5.0, 10.0)
_SECONDS = Histogram(
    "ava_api_request_seconds",
    "Seconds from a request's head to the end of its answer, without those that it has asked to wait.",
    ["method", "route"],
    buckets=_BUCKETS,
    registry=REGISTRY,
)
_REQUESTS = Counter(
    "ava_api_requests", "Requests by route and status.", ["method", "route", "status"], registry=REGISTRY
)
LOGINS = Counter("ava_api_logins", "Logins by outcome.", ["outcome"], registry=REGISTRY)
SUBMITS = Counter("ava_api_submits", "Runs asked for, by outcome.", ["outcome"], registry=REGISTRY)
STREAMS = Gauge("ava_api_log_streams", "Logs that are followed at the moment.", registry=REGISTRY)


def request(method: str, route: str, status: int, seconds: float) -> None:
    """Count a request; the route is its template, so that names in addresses make no series of their own."""
    method = method if method in _METHODS else "other"
    _SECONDS.labels(method, route).observe(seconds)
    _REQUESTS.labels(method, route, str(status)).inc()

"""What the operator counts."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from ava import build
from ava.operator.run_info import RunInfo


class Metrics:
    """The operator's series, in a registry of their own."""

    def __init__(self, cluster: str) -> None:
        self.registry = CollectorRegistry()
        build.publish(self.registry)
        common = {"registry": self.registry, "labelnames": ["cluster"]}
        self.cluster = cluster

        def gauge(name: str, text: str) -> Gauge:
            return Gauge(name, text, **common).labels(cluster)  # type: ignore[arg-type]

        def counter(name: str, text: str) -> Counter:
            return Counter(name, text, **common).labels(cluster)  # type: ignore[arg-type]

        self.leader = gauge("ava_operator_leader", "1 where this process acts")
        self.runs = gauge("ava_operator_runs", "Runs that have pods or should have")
        self.pods = gauge("ava_operator_pods", "Pods of runs")
        self.silent = gauge(
            "ava_operator_api_server_silent_seconds", "Seconds since the API server was last heard"
        )
        self.waiting = gauge("ava_operator_queue_length", "Runs that wait to be looked at")
        self.passes = counter("ava_operator_passes", "Passes over all active runs that ended")
        self.errors = counter("ava_operator_errors", "Looks at a run that failed and will be repeated")
        self.lost_writes = counter("ava_operator_fenced_writes", "Writes refused because the lead was lost")
        self.orphans = counter(
            "ava_operator_orphans_removed", "Objects removed whose run is finished or unknown"
        )
        self.forced = counter("ava_operator_pods_forced", "Pods forgotten without their kubelet")
        self.notices = counter("ava_operator_notices_sent", "Notices delivered")
        self.notices_failed = counter(
            "ava_operator_notices_failed", "Deliveries that failed and will be repeated"
        )
        self.notices_unconfirmed = counter(
            "ava_operator_notices_unconfirmed",
            "Mails left out because the address of their user is not confirmed",
        )
        self.run_info = RunInfo()
        self.registry.register(self.run_info)
        self.stuck = Gauge(
            "ava_operator_pods_stuck",
            "Pods that are still there after their grace",
            ["cluster", "reason"],
            registry=self.registry,
        )
        self.look = Histogram(
            "ava_operator_look_seconds",
            "How long one look at a run takes",
            buckets=(0.005, 0.02, 0.1, 0.5, 2, 10, 60),
            registry=self.registry,
        )
        self.finish = Histogram(
            "ava_operator_release_seconds",
            "From the moment that a run is to end until its pods are gone",
            buckets=(1, 2, 5, 10, 20, 30, 60, 120, 300, 900),
            registry=self.registry,
        )

"""What the scheduler counts and measures, for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from ava import build

_FAST = (0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0)
_SLOW = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 15.0)


class Metrics:
    """One process's; each has its own registry, so that tests can run several."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        build.publish(self.registry)
        r = self.registry
        self.leads = Gauge("ava_scheduler_leads", "1 while this process acts", registry=r)
        self.decision = Histogram(
            "ava_scheduler_decision_seconds",
            "Deciding on one run's pods",
            ["placed"],
            registry=r,
            buckets=_FAST,
        )
        self.bind = Histogram(
            "ava_scheduler_bind_seconds", "One bind, until its reply", registry=r, buckets=_SLOW
        )
        self.binds = Counter(
            "ava_scheduler_binds", "Binds by result: bound, refused, failed", ["result"], registry=r
        )
        self.gangs = Gauge("ava_scheduler_waiting_gangs", "Runs whose pods wait for nodes", registry=r)
        self.pods = Gauge("ava_scheduler_waiting_pods", "Pods that wait for nodes", registry=r)
        self.assumed = Gauge(
            "ava_scheduler_assumed_pods", "Pods being bound, or bound and not seen there yet", registry=r
        )
        self.nodes = Gauge("ava_scheduler_nodes", "Nodes known", registry=r)
        self.gpus = Gauge("ava_scheduler_gpus", "GPUs by state: free, used", ["state"], registry=r)
        self.overcommitted = Gauge(
            "ava_scheduler_overcommitted_nodes",
            "Nodes with more GPUs given away than they have; must be 0",
            registry=r,
        )
        self.admitted = Counter("ava_scheduler_admitted_runs", "Runs admitted", registry=r)
        self.queued = Gauge(
            "ava_scheduler_queued_runs", "Runs that wait for their group's quota or queue", registry=r
        )
        self.round = Histogram(
            "ava_scheduler_admission_seconds", "One round of admission", registry=r, buckets=_SLOW
        )
        self.errors = Counter(
            "ava_scheduler_errors", "Errors that were waited out, by part", ["part"], registry=r
        )
        self.silence = Gauge("ava_scheduler_silence_seconds", "Since Kubernetes was last heard", registry=r)

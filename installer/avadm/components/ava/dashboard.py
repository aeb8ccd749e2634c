"""The platform: whether it serves, how fast, what waits, and which GPUs are given away."""

from avadm.components.grafana.panels import AMBER, RED, Query, dashboard, graph, stat

# Anybody's pod may tell series of these names: those of the platform's own namespace count.
OWN = 'namespace="ava-system"'
ANSWERS = f'rate(ava_api_request_seconds_bucket{{{OWN},route!~".*logs.*"}}[5m])'
READY = f"max by (deployment) (kube_deployment_status_replicas_available{{{OWN}}})"

PANELS = [
    stat("Pods that are ready", f"sum({READY})", width=4),
    stat(
        "Who acts",
        f"max(ava_operator_leader{{{OWN}}}) + max(ava_scheduler_leads{{{OWN}}})",
        width=4,
        note="Two: one operator, one scheduler.",
    ),
    stat(
        "Slowest answers",
        # Where no one has asked there is no quantile (NaN, which is no number above zero).
        f"histogram_quantile(0.99, sum by (le) ({ANSWERS})) >= 0 or vector(0)",
        unit="s",
        width=4,
        steps=[(0.2, AMBER), (1, RED)],
        note="99 of 100 are faster; logs that are followed do not count.",
    ),
    stat("GPUs free", f'max(ava_scheduler_gpus{{{OWN},state="free"}})', width=4),
    stat("Runs that wait for quota", f"max(ava_scheduler_queued_runs{{{OWN}}})", width=4),
    stat("Runs that wait for nodes", f"max(ava_scheduler_waiting_gangs{{{OWN}}})", width=4),
    graph("Pods that are ready", Query(READY, "{{deployment}}"), width=8),
    graph(
        "Requests a second",
        Query(f"sum by (status) (rate(ava_api_requests_total{{{OWN}}}[5m]))", "{{status}}"),
        width=8,
    ),
    graph(
        "Time of answers",
        *(
            Query(f"histogram_quantile({q}, sum by (le) ({ANSWERS}))", f"{100 * q:g} of 100")
            for q in (0.5, 0.95, 0.99)
        ),
        unit="s",
        width=8,
    ),
    graph("GPUs", Query(f"max by (state) (ava_scheduler_gpus{{{OWN}}})", "{{state}}"), width=8),
    graph(
        "What waits",
        Query(f"max(ava_scheduler_queued_runs{{{OWN}}})", "runs, for quota"),
        Query(f"max(ava_scheduler_waiting_gangs{{{OWN}}})", "runs, for nodes"),
        Query(f"max(ava_scheduler_waiting_pods{{{OWN}}})", "pods, for nodes"),
        Query(f"max(ava_operator_queue_length{{{OWN}}})", "runs, to be looked at"),
        width=8,
    ),
    graph(
        "Runs and pods",
        Query(f"max(ava_operator_runs{{{OWN}}})", "runs"),
        Query(f"max(ava_operator_pods{{{OWN}}})", "pods"),
        width=8,
    ),
    graph(
        "From the end of a run until its pods are gone",
        Query(
            f"histogram_quantile(0.99, sum by (le) (rate(ava_operator_release_seconds_bucket{{{OWN}}}[15m])))",
            "99 of 100",
        ),
        unit="s",
        width=8,
    ),
    graph(
        "Time of a decision",
        Query(
            f"histogram_quantile(0.99, sum by (le) (rate(ava_scheduler_decision_seconds_bucket{{{OWN}}}[5m])))",
            "99 of 100",
        ),
        unit="s",
        width=8,
    ),
    graph(
        "Troubles",
        Query(f"sum by (reason) (ava_operator_pods_stuck{{{OWN}}})", "pods that do not end: {{reason}}"),
        Query(f"sum(increase(ava_operator_errors_total{{{OWN}}}[5m]))", "looks at a run that failed"),
        Query(f"sum by (part) (increase(ava_scheduler_errors_total{{{OWN}}}[5m]))", "scheduler: {{part}}"),
        Query(
            f"sum(increase(ava_operator_notices_failed_total{{{OWN}}}[5m]))", "notices that were not taken"
        ),
        width=8,
    ),
]


def build() -> str:
    """Return the dashboard as JSON."""
    return dashboard("avadm-ava", "Platform", "AVA: users' requests, what waits, GPUs, troubles.", PANELS)

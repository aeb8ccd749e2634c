"""Kubernetes: what runs on which node, what does not, and what it uses."""

from avadm.components.grafana.panels import AMBER, RED, Query, bars, dashboard, graph, stat

N = 'node=~"$node"'
ANY = [(1, RED)]
SOME = [(1, AMBER)]
FULL = [(0.8, AMBER), (0.95, RED)]
# cadvisor 1.9 names a pod's containers so; `POD` is the container that holds the network.
CONTAINER = f'image!="", container_name!="POD", {N}'


def share(resource: str) -> str:
    """Return the expression of what pods asked for, of what a node can give."""
    given = f'sum by (node) (kube_node_status_allocatable{{resource="{resource}", {N}}})'
    asked = f'sum by (node) (kube_pod_container_resource_requests{{resource="{resource}", {N}}})'
    return f"({asked} or 0 * {given}) / {given}"


def pods(phase: str) -> str:
    """Return the expression of the number of pods in a phase; each state is reported by every master."""
    return f'sum(max by (namespace, pod) (kube_pod_status_phase{{phase="{phase}"}})) or vector(0)'


PANELS = [
    stat("Nodes ready", 'sum(max by (node) (kube_node_status_condition{condition="Ready", status="true"}))'),
    stat(
        "Nodes not ready",
        'count(max by (node) (kube_node_status_condition{condition="Ready", status="true"}) == 0) or vector(0)',
        steps=ANY,
    ),
    stat("Nodes cordoned", "sum(max by (node) (kube_node_spec_unschedulable))", steps=SOME),
    stat("Pods running", pods("Running")),
    stat("Pods pending", pods("Pending"), steps=SOME),
    stat("Pods failed", pods("Failed"), steps=SOME),
    stat(
        "Claims without volume",
        "sum(max by (namespace, persistentvolumeclaim)"
        ' (kube_persistentvolumeclaim_status_phase{phase="Pending"})) or vector(0)',
        steps=SOME,
    ),
    stat(
        "Pods asked to scrape, down",
        'count(up{job="pods"} == 0) or vector(0)',
        steps=SOME,
        note="Pods with the annotation prometheus.io/scrape that do not answer.",
    ),
    bars("CPU asked for, of what is there", share("cpu"), "{{node}}", unit="percentunit", steps=FULL),
    bars("Memory asked for, of what is there", share("memory"), "{{node}}", unit="percentunit", steps=FULL),
    bars(
        "Pods by node",
        # A node without pods is there with 0.
        f"count by (node) (max by (namespace, pod, node) (kube_pod_info{{{N}}}))"
        f" or 0 * max by (node) (kube_node_info{{{N}}})",
        "{{node}}",
    ),
    graph(
        "CPU used by pods",
        Query(f"sum by (node) (rate(container_cpu_usage_seconds_total{{{CONTAINER}}}[2m]))", "{{node}}"),
        note="Processors.",
    ),
    graph(
        "Memory used by pods",
        Query(f"sum by (node) (container_memory_working_set_bytes{{{CONTAINER}}})", "{{node}}"),
        unit="bytes",
    ),
    graph("Pods by phase", *(Query(pods(p), p.lower()) for p in ("Running", "Pending", "Failed"))),
    graph(
        "Most memory: pods",
        Query(
            f"topk(10, sum by (namespace, pod_name) (container_memory_working_set_bytes{{{CONTAINER}}}))",
            "{{namespace}}/{{pod_name}}",
        ),
        unit="bytes",
        width=12,
    ),
    graph(
        "Most CPU: pods",
        Query(
            "topk(10, sum by (namespace, pod_name)"
            f" (rate(container_cpu_usage_seconds_total{{{CONTAINER}}}[2m])))",
            "{{namespace}}/{{pod_name}}",
        ),
        width=12,
    ),
    graph(
        "Container starts in 30 minutes",
        Query(
            "topk(10, max by (namespace, pod) (increase(kube_pod_container_status_restarts_total[30m])))",
            "{{namespace}}/{{pod}}",
        ),
    ),
    graph(
        "Kubelet: its own operations, p99",
        Query(
            f'max by (node) (kubelet_runtime_operations_latency_microseconds{{quantile="0.99", {N}}}) / 1e6',
            "{{node}}",
        ),
        unit="s",
        note="What docker is asked: create, start, stop, list.",
    ),
]


def build() -> str:
    """Return the dashboard as JSON."""
    return dashboard(
        "avadm-kubernetes",
        "Kubernetes",
        "What runs on which node, what does not, and what it uses.",
        PANELS,
        variables=["node"],
    )

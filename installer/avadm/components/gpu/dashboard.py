"""GPUs: how many are in use, how hard they work, and which is in trouble."""

from avadm.components.grafana.panels import AMBER, RED, Query, bars, dashboard, graph, stat

N = 'node=~"$node"'
GPU = "{{node}} GPU {{gpu}}"
# kube-state-metrics writes nvidia.com/gpu so.
CARDS = 'resource="nvidia_com_gpu"'
# Several masters tell the same; a pod that has ended is reported until it is removed, and has no GPU any more.
ASKED = (
    f"sum by (node) (max by (namespace, pod, container, node) (kube_pod_container_resource_requests{{{CARDS}, {N}}}) "
    'unless on (namespace, pod) max by (namespace, pod) (kube_pod_status_phase{phase=~"Succeeded|Failed"}) == 1)'
)
OFFERED = f"max by (node) (kube_node_status_allocatable{{{CARDS}, {N}}})"
USED = f"({ASKED} or 0 * {OFFERED})"

PANELS = [
    stat("GPUs", f"count(dcgm_gpu_utilization{{{N}}})", width=4),
    stat("In Kubernetes", f"sum(max by (node) (kube_node_status_allocatable{{{CARDS}, {N}}}))", width=4),
    stat(
        "Asked for by pods",
        f"sum({ASKED}) or vector(0)",
        width=4,
    ),
    stat(
        "Missing in Kubernetes",
        f"count(dcgm_gpu_utilization{{{N}}}) - sum(max by (node) (kube_node_status_allocatable{{{CARDS}, {N}}}))",
        width=4,
        steps=[(1, RED)],
        note="Cards that the exporter sees and pods cannot get.",
    ),
    stat("Mean utilization", f"avg(dcgm_gpu_utilization{{{N}}}) / 100", unit="percentunit", width=4),
    stat("Hottest", f"max(dcgm_gpu_temp{{{N}}})", unit="celsius", width=4, steps=[(80, AMBER), (88, RED)]),
    bars("Used per machine", USED, "{{node}}", width=12, note="GPUs that pods have, as Kubernetes tells."),
    bars("Free per machine", f"{OFFERED} - {USED}", "{{node}}", width=12),
    graph("Utilization", Query(f"dcgm_gpu_utilization{{{N}}} / 100", GPU), unit="percentunit", width=12),
    graph("Temperature", Query(f"dcgm_gpu_temp{{{N}}}", GPU), unit="celsius"),
    graph("Power", Query(f"dcgm_power_usage{{{N}}}", GPU), unit="watt"),
    bars(
        "Cards with an error (XID)",
        f"count by (node) (dcgm_xid_errors{{{N}}} > 0) or count by (node) (dcgm_xid_errors{{{N}}}) * 0",
        "{{node}}",
        steps=[(1, RED)],
        note="The kernel's log on the node names the error: NVRM: Xid.",
    ),
    graph(
        "Memory used",
        Query(f"dcgm_fb_used{{{N}}} / (dcgm_fb_used{{{N}}} + dcgm_fb_free{{{N}}})", GPU),
        unit="percentunit",
        width=12,
    ),
]


def build() -> str:
    """Return the dashboard as JSON."""
    return dashboard(
        "avadm-gpu", "GPUs", "How many are in use and how hard they work.", PANELS, variables=["node"]
    )

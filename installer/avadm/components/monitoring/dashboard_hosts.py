"""Hosts: one machine or several, chosen at the top."""

from avadm.components.grafana.panels import AMBER, RED, Query, bars, dashboard, graph, stat

N = 'node=~"$node"'
FULL = [(0.8, AMBER), (0.9, RED)]

PANELS = [
    stat("Up", f'count(up{{job="node", {N}}} == 1) or vector(0)', width=4),
    stat("Processors", f'count(node_cpu_seconds_total{{mode="idle", {N}}})', width=4),
    stat("Memory", f"sum(node_memory_MemTotal_bytes{{{N}}})", unit="bytes", width=4),
    stat("Least time since boot", f"min(time() - node_boot_time_seconds{{{N}}})", unit="s", width=4),
    stat(
        "Killed for memory, worst 10 minutes of a day",
        f'sum(max_over_time(avadm_oom_kills{{{N},within!="pod"}}[1d]))',
        width=4,
        steps=[(1, RED)],
    ),
    stat(
        "Largest clock offset",
        f"max(abs(node:clock_offset:seconds{{{N}}}))",
        unit="s",
        width=4,
        steps=[(0.05, AMBER), (0.5, RED)],
        note="Against the middle one of all clocks, to some milliseconds.",
    ),
    graph("CPU used", Query(f"node:cpu_used:ratio{{{N}}}", "{{node}}"), unit="percentunit"),
    graph(
        "CPU by kind, mean of the chosen",
        Query(f'avg by (mode) (rate(node_cpu_seconds_total{{mode!="idle", {N}}}[2m]))', "{{mode}}"),
        unit="percentunit",
        stack=True,
    ),
    graph("Load, 5 minutes", Query(f"node_load5{{{N}}}", "{{node}}")),
    graph("Memory used", Query(f"node:memory_used:ratio{{{N}}}", "{{node}}"), unit="percentunit"),
    graph("Page faults to disk", Query(f"rate(node_vmstat_pgmajfault{{{N}}}[2m])", "{{node}}"), unit="ops"),
    bars(
        "File systems",
        f"max by (node, mountpoint) (node:filesystem_used:ratio{{{N}}})",
        "{{node}} {{mountpoint}}",
        unit="percentunit",
        steps=FULL,
    ),
    graph(
        "Disk read", Query(f"rate(node_disk_read_bytes_total{{{N}}}[2m])", "{{node}} {{device}}"), unit="Bps"
    ),
    graph(
        "Disk written",
        Query(f"rate(node_disk_written_bytes_total{{{N}}}[2m])", "{{node}} {{device}}"),
        unit="Bps",
    ),
    graph("Disk busy", Query(f"node:disk_busy:ratio{{{N}}}", "{{node}} {{device}}"), unit="percentunit"),
    graph("Network in", Query(f"node:network_receive_bytes:rate{{{N}}}", "{{node}}"), unit="Bps"),
    graph("Network out", Query(f"node:network_transmit_bytes:rate{{{N}}}", "{{node}}"), unit="Bps"),
    graph(
        "Network errors and drops",
        Query(
            f"sum by (node) (rate(node_network_receive_errs_total{{{N}}}[2m])"
            f" + rate(node_network_transmit_errs_total{{{N}}}[2m]))",
            "{{node}} errors",
        ),
        Query(
            f"sum by (node) (rate(node_network_receive_drop_total{{{N}}}[2m])"
            f" + rate(node_network_transmit_drop_total{{{N}}}[2m]))",
            "{{node}} drops",
        ),
        unit="pps",
    ),
    graph(
        "TCP segments sent again",
        Query(f"rate(node_netstat_Tcp_RetransSegs{{{N}}}[2m])", "{{node}}"),
        unit="pps",
    ),
    graph("Open files", Query(f"node_filefd_allocated{{{N}}}", "{{node}}")),
    graph("sshd answers within", Query(f'probe_duration_seconds{{probe="ssh", {N}}}', "{{node}}"), unit="s"),
]


def build() -> str:
    """Return the dashboard as JSON."""
    return dashboard("avadm-hosts", "Hosts", "One machine or several.", PANELS, variables=["node"])

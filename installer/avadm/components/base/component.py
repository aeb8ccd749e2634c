"""The operating system's basics and time."""

from __future__ import annotations

from avadm.components.model import EVERYWHERE, Component, Packages, Peer, Phase, Port, Probe

COMPONENT = Component(
    phase=Phase(
        "base",
        "operating system basics and time",
        "playbooks/base.yml",
        (),
        (),
        ("base", "chrony"),
        apart=True,
        peer_inputs=("base_hosts",),
    ),
    packages={EVERYWHERE: Packages(base=("base", "chrony"))},
    ports=(
        Port(
            number=lambda site: site.ssh.port,
            key=("ssh", "port"),
            usual=22,
            program="sshd",
            what="ssh, by which everything here is installed",
            # Nodes: the monitoring probes it, and administrators go from node to node.
            peers=(Peer.NODES, Peer.OUTSIDE),
            who="keys of administrators",
            taken=False,
        ),
        Port(
            number=123,
            program="chronyd",
            what="time, where the site has no time servers of its own",
            protocol="udp",
            peers=(Peer.NODES,),
            who="nodes",
            taken=False,
        ),
    ),
    certificates=("/etc/avadm/*/*.crt",),
    configurations=(
        "/etc/chrony/*",
        "/etc/hosts",
        "/etc/resolv.conf",
        "/etc/sysctl.d/*",
        "/etc/systemd/system/*.service",
        "/etc/systemd/system/*.d/*.conf",
    ),
    questions=(
        Probe("units"),
        Probe("mounts"),
        Probe("memory"),
        Probe("addresses"),
        Probe("kernel"),
        Probe("private_mounts"),
        Probe("certificates"),
        Probe("journal"),
        Probe("ports"),
    ),
)

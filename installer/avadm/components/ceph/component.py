"""The storage cluster: monitors, managers, OSDs."""

from __future__ import annotations

from avadm.components.model import (
    Bootstrap,
    Ceph,
    Component,
    Daemon,
    Packages,
    Peer,
    Phase,
    Port,
    Probe,
    Stage,
    Upgradable,
)

ROLES = ("mon", "mgr", "osd", "mds", "client", "rgw")
"""Roles whose nodes have something of ceph."""
DAEMONS = (6800, 7300)
"""Ports of OSDs, managers and MDS (ms_bind_port_min and _max)."""
LIMITED = "osd-limited"
"""Duty: the node's OSDs have limits of backfill by the hour."""
MEASURED = 5269
"""Where acceptance measures between two clients (avadm_validation, suites/storage/preconditions.py)."""

COMPONENT = Component(
    phase=Phase(
        "ceph",
        "storage cluster",
        "playbooks/ceph.yml",
        ("base",),
        ("mon", "mgr", "osd"),
        ("ceph_common", "ceph_mon", "ceph_mgr", "ceph_osd"),
    ),
    duties={LIMITED: lambda site: site.with_role("osd") if site.components.ceph.backfill else []},
    packages={name: Packages(base=("ceph_common", f"ceph_{name}")) for name in ("mon", "mgr", "osd")},
    ports=(
        *(
            Port(
                number=number,
                program="ceph-mon",
                what=f"monitors, protocol {version}",
                duty="mon",
                peers=(Peer.NODES,),
                who="keys of cephx",
            )
            for number, version in ((3300, 2), (6789, 1))
        ),
        *(
            Port(
                number=DAEMONS[0],
                last=DAEMONS[1],
                program=program,
                what=what,
                duty=duty,
                peers=(Peer.NODES,),
                who="keys of cephx",
                taken=False,
            )
            for duty, program, what in (
                ("mgr", "ceph-mgr", "managers"),
                ("osd", "ceph-osd", "OSDs"),
                ("mds", "ceph-mds", "metadata servers"),
            )
        ),
        Port(
            number=9283,
            program="ceph-mgr",
            what="metrics of the cluster",
            duty="mgr",
            peers=("prometheus",),
            who="all",
        ),
        Port(
            number=MEASURED,
            program="iperf3",
            what="acceptance's measurement of the network, while it runs",
            duty="client",
            peers=("client",),
            who="all",
            taken=False,
        ),
    ),
    ceph=Ceph(
        daemons=("mon", "mgr", "osd"),
        nodes=frozenset({"mon", "mgr", "osd"}),
        kinds=("ceph", "mon", "mgr", "osd"),
    ),
    configurations=("/etc/ceph/*",),
    questions=(
        Probe("ceph_programs", ROLES),
        Probe("ceph", ("mon",), witnesses=2),
        Probe("osd_limits", (LIMITED,)),
    ),
    bootstrap=Bootstrap("mon", "mon", "ceph_mon"),
    # Steps of its own (operations/upgrade_ceph.py). No way back: upstream supports no downgrade.
    upgrades=(
        Upgradable(
            name="ceph",
            role="ceph_common",
            duty="mon",
            with_roles=("ceph_mon", "ceph_mgr", "ceph_osd", "ceph_mds", "ceph_rgw", "ceph_client"),
        ),
    ),
    daemons=(
        Daemon(stage=Stage.OSDS, units=("ceph-osd@*.service",), duties=("osd",)),
        Daemon(stage=Stage.MANAGERS, units=("ceph-mgr@*.service",), duties=("mgr",)),
        Daemon(stage=Stage.MONITORS, units=("ceph-mon@*.service",), duties=("mon",)),
    ),
)

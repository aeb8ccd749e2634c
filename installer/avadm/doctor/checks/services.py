"""Services of nodes by general means: units, ports, virtual addresses; and what avadm's own state says."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from avadm.checks.evidence import Snapshot
from avadm.checks.framework import Check, bad, unknown, warn
from avadm.components.catalog import COMPONENTS
from avadm.findings import Finding
from avadm.quantity import quantity

OURS = (
    "alertmanager",
    "alluxio",
    "avadm-",
    "calico-",
    "ceph-",
    "chrony",
    "coredns",
    "docker",
    "etcd",
    "grafana",
    "haproxy",
    "keepalived",
    "kube",
    "nvidia-",
    "prometheus",
    "radosgw",
    "traefik",
    "vector",
    "victoria",
    "vlogs",
)
"""How the units begin that this site needs; any other one that is down is reported as a warning."""
LONG = ("simple", "exec", "notify", "forking", "dbus", "")
"""Types of services that stay; "" are timers. Those that end (oneshot) or wait (idle) may be inactive."""
RESTARTS = 20


def _units(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for name, u in sorted(data.items()):
        ours = name.startswith(OURS)
        state = f"{name} is {u['active']} ({u['sub']}{', ' + u['result'] if u['result'] not in ('', 'success') else ''})"
        remedy = (
            f"`systemctl status {name}` and `journalctl -u {name} -e` there; then `systemctl restart {name}`."
        )
        if u["active"] == "failed" or u["sub"] == "auto-restart":
            yield (bad if ours else warn)(state, remedy=remedy)
        elif u["active"] == "deactivating" and ours:
            stuck = "If it does not end at all, its process hangs in the kernel: restart the node."
            yield bad(state, remedy=f"{remedy} {stuck}")
        elif u["enabled"] and u["active"] == "inactive" and u["condition"] and u["type"] in LONG:
            yield (bad if ours else warn)(f"{state} although it is enabled", remedy=remedy)
        elif u["restarts"] > RESTARTS and ours:
            yield warn(
                f"{name} was started again {quantity(u['restarts'], 'time')} by systemd", remedy=remedy
            )


def _ports(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for port in data:
        yield bad(f"nothing listens on port {port}")


def _holders(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    for address, role in s.site.addresses.items():
        able = [n.name for n in s.site.with_role(role)]
        known = {n: s.part(n, "addresses") for n in able}
        held = [n for n, own in known.items() if own is not None and address in own]
        blind = [n for n, own in known.items() if own is None]
        what = f"the virtual address {address} of the {role} nodes"
        if len(held) > 1:
            yield bad(f"{what} is held by {', '.join(held)} at once", ", ".join(held))
        elif not held and blind:
            yield unknown(f"{what}: {', '.join(blind)} did not say", ", ".join(blind))
        elif not held:
            yield bad(f"{what} is held by none of them", role)


def _phases(s: Snapshot) -> Iterator[Finding]:
    if s.ledger is None:
        yield unknown("the state of avadm cannot be read")
        return
    for phase, state in s.ledger.items():
        if state == "failed":
            yield warn(f"the phase {phase} has failed", phase)


def _component_profiles(s: Snapshot) -> Iterator[Finding]:
    for component, name in s.site.component_profiles.items():
        yield warn(f"it has the profile {name}, the site another one", component)


OPERATIONS = "operations"
"""The check that says of a site that it is down on purpose."""


def _operations(s: Snapshot) -> Iterator[Finding]:
    if s.operations is None:
        yield unknown("the state of avadm cannot be read")
        return
    for one in s.operations.get("power", ()):
        yield bad(f"{one['words']} ({one['state']})", one["command"], "`avadm power up` starts the site.")
    for one in s.operations["operations"]:
        words = f"half done, begun by {one['user']} {one['age_s'] // 60} min ago"
        yield warn(words, one["command"], f"`{one['command']}` continues it.")
    for one in s.operations["leftovers"]:
        yield warn(f"{one['kind']} {one['target']} is still set, for {one['age_s'] // 60} min", one["owner"])
    for one in s.operations["maintenances"]:
        if s.taken >= one["until"]:
            minutes = (s.taken - one["until"]) // 60
            remedy = f"`avadm maintenance end {one['name']}` once its nodes are back."
            yield bad(
                f"overdue for {minutes:.0f} min, begun by {one['user']}: {one['reason']}", one["name"], remedy
            )


_check = partial(Check, topic="services")


CHECKS = (
    _check(
        "units",
        "a service that is enabled and does not run, has failed, or is started again and again",
        ("units",),
        _units,
        remedy="`systemctl status UNIT` and `journalctl -u UNIT -e` there.",
        requirement="K2",
        good="every enabled service runs",
    ),
    _check(
        "ports",
        "a port of the node's roles on which nothing listens",
        ("ports",),
        _ports,
        roles=tuple(sorted({p.duty for c in COMPONENTS for p in c.ports if p.always})),
        remedy="See whether the service runs (`systemctl status`) and where it listens (`ss -ltn`).",
        requirement="I8",
        good="something listens on every port",
    ),
    _check(
        "virtual-address",
        "a virtual address that no node holds, or two nodes at once",
        ("addresses",),
        _holders,
        roles=("master", "ingress", "rgw"),
        scope="site",
        remedy="Look at `journalctl -u keepalived -e` on those nodes; two holders do not hear each other's "
        "VRRP packets (protocol 112).",
        requirement="I11",
        good="each virtual address has one holder",
    ),
    _check(
        OPERATIONS,
        "a site that is powered down, an operation that is half done, a setting that was left, a maintenance that is overdue",
        (),
        _operations,
        scope="all",
        remedy="The next command that changes the site undoes it; `avadm status` lists what is left.",
        good="no operation left anything",
    ),
    _check(
        "ledger",
        "a phase of the installation that has failed",
        (),
        _phases,
        scope="all",
        remedy="See `avadm status` and `avadm runs show latest`; `avadm apply` resumes where it stopped.",
        requirement="K11",
        good="no phase has failed",
    ),
    _check(
        "component-profiles",
        "a component with another profile than the site's",
        (),
        _component_profiles,
        scope="all",
        remedy="`avadm upgrade --to PROFILE` brings the others there, and then the site file names one profile.",
        good="all components have the site's profile",
    ),
)

"""Known holes: whether what runs is what the register of risks says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from avadm.checks.evidence import Snapshot
from avadm.checks.framework import Check, bad, unknown, warn
from avadm.findings import Finding
from avadm.risks.register import register

# Role to the servers of Kubernetes that run on its nodes.
SERVERS = {
    "master": ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy"),
    "worker": ("kubelet", "kube-proxy"),
}


REMEDY_RULES = "`systemctl restart avadm-localnet` there; `avadm apply nodes` puts it in order."


def _holes(s: Snapshot, node: str, data: Any) -> Iterator[Finding]:
    roles = next((n.roles for n in s.site.nodes if n.name == node), ())
    servers = dict.fromkeys(name for role in roles for name in SERVERS.get(role, ()))
    if deaf := [name for name in servers if name not in data["flags"]]:
        yield unknown(f"{', '.join(deaf)} cannot be looked at: no such process")
    yield from _builds(data["commits"])
    yield from _flags(data["flags"])
    for rule in data["rules"]:
        holes = [
            i for r in register() if r.asked and any(rule in v for v in r.asked.rules.values()) for i in r.ids
        ]
        yield bad(f"iptables lacks `{rule}`: {', '.join(holes)}", remedy=REMEDY_RULES)
    for name, (version, enough) in sorted(data["packages"].items()):
        if not enough:
            holes = [i for r in register() if r.asked and name in r.asked.packages for i in r.ids]
            yield bad(f"{name} {version} is older than the fix of {', '.join(holes)}")


def _builds(commits: dict[str, str]) -> Iterator[Finding]:
    """Judge what each server is made of, by every build that the register asks for."""
    wanted = {r.asked.commit for r in register() if r.asked and r.asked.commit}
    for commit in sorted(wanted):
        holes = [i for r in register() if r.asked and r.asked.commit == commit for i in r.ids]
        other = {name: reply for name, reply in sorted(commits.items()) if reply != commit}
        if other:
            built = ", ".join(f"{name} ({reply})" for name, reply in other.items())
            yield warn(f"not avadm's patched build ({commit}): {built}; open are {', '.join(holes)}")


def _flags(flags: dict[str, dict[str, str]]) -> Iterator[Finding]:
    for risk in register():
        for server, wanted in (risk.asked.flags if risk.asked else {}).items():
            for flag, value in wanted.items():
                found = flags.get(server, {}).get(flag, "not set")
                if server in flags and found != value:
                    yield bad(f"{server} has --{flag} {found}, wanted {value}: {', '.join(risk.ids)}")


CHECKS = (
    Check(
        "known-holes",
        "a server of Kubernetes that is not the patched build or has a dangerous flag; a package without a fix",
        ("defences",),
        _holes,
        roles=("master", "worker"),
        topic="risks",
        remedy="docs/reference/generated/risks.md says what each hole is. `avadm artifacts build` and `avadm apply` bring the "
        "patched build and the flags; packages by the system's updates, or pinned in the profile.",
        requirement="I7",
        good="the patched build runs, with the flags of the register of risks",
    ),
)

"""The package manager sees a candidate for all that a node needs, of the profile's version where stated."""

from __future__ import annotations

from avadm.catalogue import finding
from avadm.checks.evidence import PreflightContext
from avadm.checks.framework import Check
from avadm.findings import Finding

# Package name to the component whose version the profile states.
VERSIONED = {
    "ceph-common": "ceph",
    "etcd-server": "etcd",
    "prometheus": "prometheus",
    "prometheus-alertmanager": "alertmanager",
    "prometheus-node-exporter": "node_exporter",
    "prometheus-blackbox-exporter": "blackbox_exporter",
}


def judge(context: PreflightContext) -> list[Finding]:
    """Return an error per node that lacks packages, or would get another version than the profile's."""
    found = []

    def describe(name: str) -> str:
        source = context.profile.source_of(name)
        return f"{name} (of {source}: {context.profile.sources[source].what})" if source else name

    for node, fact in context.each("packages"):
        candidates: dict[str, str | None] = fact["candidates"]
        missing = sorted(name for name, version in candidates.items() if version is None)
        if missing:
            found.append(
                finding(
                    "packages",
                    where="apt-cache policy",
                    found=f"no candidate for {', '.join(map(describe, missing))}"
                    + (f"; apt-get update reported: {fact['trouble']}" if fact["trouble"] else ""),
                    wanted="a candidate for each",
                    host=node.name,
                )
            )
        for name, component in VERSIONED.items():
            version, prefix = candidates.get(name), context.profile.versions.get(component, "")
            # "1:16.2.15+ds-0" → "16.2.15+ds-0": a Debian epoch says nothing of the upstream version.
            if version and not version.partition(":")[2 if ":" in version else 0].startswith(prefix):
                found.append(
                    finding(
                        "packages-version",
                        where="apt-cache policy",
                        found=version,
                        wanted=f"{prefix}… (profile {context.profile.name})",
                        host=node.name,
                        name=name,
                    )
                )
    return found


CHECK = Check("packages", "package sources hold what is needed", ("packages",), judge, scope="all")

"""What forbids an upgrade of ceph, all of it in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from avadm.catalogue import finding
from avadm.cluster import ceph_release, health
from avadm.cluster.ceph_release import FileSystem
from avadm.cluster.osd_map import OsdMap
from avadm.components.objects import object_pools
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.operations.ceph_nodes import CLIENT, GATEWAY, CephFacts, CephNodes
from avadm.operations.upgrade_model import Asked, numbers
from avadm.site.model import Node

T = TypeVar("T")
FURTHEST = 2
"""Releases that may lie between the old and the new one, at most: upstream's rule."""
OLDEST_CLIENT = 12
"""Major release of the oldest client that is let be: older ones know neither straw2's weights nor upmap (`ceph features`)."""
PATRONI = 4
"""Major release of Patroni from which on it runs under Python 3.12 and newer."""
BYTEWISE = frozenset({"C", "POSIX", "C.UTF-8", "C.utf8"})
"""Collations by bytes, which no other C library changes."""
HARMLESS = frozenset(
    {
        "AUTH_INSECURE_GLOBAL_ID_RECLAIM",
        "AUTH_INSECURE_GLOBAL_ID_RECLAIM_ALLOWED",
        "BLUESTORE_NO_PER_PG_OMAP",
        "BLUESTORE_NO_PER_POOL_OMAP",
        "LARGE_OMAP_OBJECTS",
        "MDS_INSUFFICIENT_STANDBY",
        "MON_MSGR2_NOT_ENABLED",
        "OSD_UPGRADE_FINISHED",
        "PG_NOT_DEEP_SCRUBBED",
        "PG_NOT_SCRUBBED",
        "POOL_APP_NOT_ENABLED",
        "POOL_PG_NUM_NOT_POWER_OF_TWO",
        "POOL_TOO_FEW_PGS",
        "POOL_TOO_MANY_PGS",
        "RECENT_CRASH",
        "TELEMETRY_CHANGED",
        "TOO_FEW_OSDS",
        "TOO_FEW_PGS",
        "TOO_MANY_PGS",
    }
)
"""Warnings of what an upgrade does not make worse; a user may accept them."""
SETTLED = frozenset({"MON_MSGR2_NOT_ENABLED", "OSD_UPGRADE_FINISHED"})
"""Warnings that the upgrade itself removes: they speak against nothing."""
ACCEPTABLE = frozenset({"filesystem-stops", "mon-quorum", "upgrade-ceph-warnings"})


@dataclass(frozen=True)
class Refusals:
    """What was reported, to be judged.

    Attributes:
        asked: the upgrade.
        room: the nodes.
        nodes: those with packages of ceph.
        facts: what each has.
        hosts: host to its OSDs and whether they are up.
        systems: the file systems.
    """

    asked: Asked
    room: CephNodes
    nodes: Sequence[Node]
    facts: Mapping[str, CephFacts]
    hosts: Mapping[str, Mapping[int, bool]]
    systems: Sequence[FileSystem]

    def all(self) -> list[Finding]:
        """Return all that speaks against it; what a stopped upgrade explains does not."""
        found = [*self._versions(), *self._try(self._clients), *self._try(self._pools)]
        found += [*self._database()]
        if not self.asked.resumed:
            found += [*self._try(self._health), *self._try(self._storage), *self._try(self._spare)]
        return found

    @staticmethod
    def _try(judge: Callable[[], Iterator[Finding]]) -> list[Finding]:
        """Return what is found; where it cannot be asked, that."""
        try:
            return list(judge())
        except AvadmError as error:
            return error.findings

    def _expected(self, node: Node) -> Iterator[str]:
        """Yield the daemons that must run on a node, or how their names begin."""
        yield from (f"{kind}.{node.name}" for kind in ("mon", "mgr", "mds") if kind in node.roles)
        yield from (f"osd.{number}" for number in self.hosts.get(node.name, ()))
        if node in object_pools.gateways(self.asked.cluster.site):
            yield GATEWAY

    def _versions(self) -> Iterator[Finding]:
        wanted = numbers(self.asked.wanted)
        found: dict[str, tuple[int, ...]] = {}
        for node in self.nodes:
            fact = self.facts.get(node.name, CephFacts(silent="no answer"))
            missing = [one for one in self._expected(node) if not fact.of(one)]
            if fact.silent or (missing and not self.asked.resumed):
                why = fact.silent or f"not running: {', '.join(missing)}"
                yield finding("upgrade-version-unknown", host=node.name, found=why, name="ceph")
                continue
            # A client's program that was started by hand may be of any version: what is installed is judged.
            found |= {
                f"{node.name}: {name}": numbers(version)
                for name, version in fact.daemons.items()
                if not name.startswith(CLIENT)
            }
            if fact.installed:
                found[f"{node.name}: ceph"] = numbers(fact.installed)
        for host in self.hosts.keys() - {n.name for n in self.nodes}:
            yield finding("upgrade-version-unknown", host=host, found="no node of the site file", name="ceph")
        versions = sorted({version[:3] for version in found.values()})
        shown = ", ".join(".".join(map(str, one)) for one in versions)
        if any(one[: len(wanted)] > wanted for one in versions):
            yield finding("upgrade-downgrade", "ceph", shown, self.asked.wanted, name="ceph")
        elif wanted[0] not in ceph_release.RELEASES or any(wanted[0] - one[0] > FURTHEST for one in versions):
            yield finding("upgrade-skips-release", "ceph", shown, self.asked.wanted, name="ceph")
        if len(versions) > 1 and not self.asked.resumed:
            least = [name for name, version in sorted(found.items()) if version[:3] == versions[0]]
            yield finding(
                "upgrade-mixed-versions",
                "ceph",
                f"{shown}; {', '.join(least[:3])}",
                "one version",
                name="ceph",
            )

    def _clients(self) -> Iterator[Finding]:
        old = ceph_release.clients_before(self.asked.cluster, OLDEST_CLIENT)
        if old:
            words = ", ".join(f"{number} of {name}" for name, number in sorted(old.items()))
            wanted = f"{ceph_release.RELEASES[OLDEST_CLIENT]} or newer"
            yield finding("upgrade-client-old", where="ceph features", found=words, wanted=wanted)
        release, major = (
            ceph_release.required_osd_release(self.asked.cluster),
            numbers(self.asked.wanted)[0],
        )
        if ceph_release.major_of(release) < major - FURTHEST:
            oldest = ceph_release.RELEASES.get(major - FURTHEST, "")
            yield finding("upgrade-osd-release", "require_osd_release", release, f"{oldest} or newer")

    def _pools(self) -> Iterator[Finding]:
        for pool in ceph_release.pools(self.asked.cluster):
            if pool.size <= pool.min_size:
                yield finding(
                    "upgrade-pool-copies",
                    where=pool.name,
                    found=f"size {pool.size}, min_size {pool.min_size}",
                    wanted="size above min_size",
                    name=pool.name,
                )

    def _health(self) -> Iterator[Finding]:
        for one in ceph_release.health_checks(self.asked.cluster):
            if one.code in SETTLED:
                continue
            harmless = one.code in HARMLESS and not one.error
            code = "upgrade-ceph-warnings" if harmless else "upgrade-ceph-health"
            yield finding(code, where=one.code, found=one.text, wanted="HEALTH_OK")

    def _storage(self) -> Iterator[Finding]:
        for host, its in self.hosts.items():
            for number, up in its.items():
                if not up:
                    yield finding("upgrade-osd-down", where=f"osd.{number}", found="down", host=host)
        osds = OsdMap.read(self.asked.cluster)
        if osds.unclean:
            yield finding(
                "upgrade-ceph-health",
                where="placement groups",
                found=osds.moving,
                wanted="all active and clean",
            )
        for host, its in self.hosts.items():
            if its and all(its.values()) and (why := health.why_not_stopped(self.asked.cluster, list(its))):
                yield finding("pools-stop", where=host, found=why, wanted="no pool below min_size")

    def _spare(self) -> Iterator[Finding]:
        """Yield what has no spare: monitors without a quorum while one is restarted, ranks without a standby."""
        quorum = health.monitors(self.asked.cluster)
        weak = [one for one in sorted(quorum.members) if not quorum.survives([one])]
        if weak:
            found = f"{len(quorum.inside)} of {len(quorum.members)} in quorum"
            yield finding("mon-quorum", found=found, wanted="a quorum without each of them in turn")
        if self.systems:
            up, _needed = health.metadata_servers(self.asked.cluster)
            if len(up) <= len(self.systems):
                yield finding(
                    "filesystem-stops",
                    found=f"{len(up)} metadata servers",
                    wanted="one more than file systems",
                )

    def _database(self) -> Iterator[Finding]:
        """Yield what the new Python and the new C library would break of PostgreSQL on nodes that have both."""
        profile = self.asked.after.profile
        brought = {p for s in profile.sources.values() for p in s.packages}
        nodes = [n for n in self.nodes if "database" in n.roles]
        if not nodes or not {"libc6", "python3"} & brought:
            return
        found = self.room.installed(nodes, ["patroni"])
        for node in nodes:
            version = found.get(node.name, {}).get("patroni", "")
            if "python3" in brought and numbers(version)[:1] < (PATRONI,):
                yield finding(
                    "upgrade-first",
                    host=node.name,
                    found=f"Patroni {version or 'unknown'}",
                    wanted=f"{PATRONI} or newer",
                    name="Patroni",
                )
            try:
                strange = [one for one in self.room.collations(node.name) if one not in BYTEWISE]
            except AvadmError as error:
                yield from error.findings
                continue
            if strange and "libc6" in brought:
                yield finding(
                    "upgrade-collation", host=node.name, found=", ".join(strange), wanted="C.UTF-8 or C"
                )

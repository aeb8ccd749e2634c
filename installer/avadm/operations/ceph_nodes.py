"""A site's nodes as an upgrade of ceph works on them: what runs and is installed, and how one node gets the new packages."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from avadm.catalogue import finding
from avadm.checks import versions
from avadm.components.base import variables as base
from avadm.disks.nodes import ask
from avadm.engine.request import Request
from avadm.engine.session import schedule
from avadm.errors import EXIT_FOUND_BAD, AvadmError
from avadm.operations.drain import DrainPart, each
from avadm.operations.follow import pending
from avadm.operations.model import Tell
from avadm.operations.phase import run_phases
from avadm.operations.upgrade_model import Asked, numbers
from avadm.operations.upgrade_nodes import UpgradeNodes
from avadm.site.model import Node
from avadm.site.profile import plain
from avadm.state.site_state import PhaseState
from avadm_node.probes.mounts import mount_uses

PHASES = ("ceph", "cephfs", "rbd", "objects")
"""Phases that install something of ceph."""
RESTART_S = 300.0
"""Seconds that daemons have to stop and start: an OSD writes what it holds first."""
ASK_S = 60.0
HEALTH = "/usr/local/sbin/avadm-objects-health"
"""Given an address, whether a gateway answers there (roles/ceph_rgw)."""
MOUNT_UNIT = "avadm-cephfs"
CLIENT = "client."
GATEWAY = "client.rgw."
"""How the names of clients and gateways begin, as their sockets are called."""


@dataclass(frozen=True, slots=True)
class CephFacts:
    """What a node has of ceph.

    Attributes:
        daemons: daemon or client (``osd.3``, ``client.admin.123``) to the version that runs.
        installed: the version of the program ``ceph``; "" where there is none.
        stale: programs whose file was replaced after they were started.
        silent: why the node did not answer; "" where it did.
    """

    daemons: Mapping[str, str] = field(default_factory=dict)
    installed: str = ""
    stale: tuple[str, ...] = ()
    silent: str = ""

    def of(self, prefix: str) -> dict[str, str]:
        """Return the daemons whose names begin so."""
        return {name: version for name, version in self.daemons.items() if name.startswith(prefix)}


@dataclass(frozen=True, slots=True)
class CephNodes:
    """The nodes of a site.

    Attributes:
        asked: the upgrade.
    """

    asked: Asked

    def moves(self, node: Node) -> dict[str, str]:
        """Return the node's packages of ceph's roles, each with the version pattern that it is brought to.

        That is the one that the profile pins; of ceph's own packages, where it pins none, that of the profile's version.
        """
        profile, found = self.asked.after.profile, {}
        own = set(plain(base.packages(self.asked.after.site, node, profile)))
        for role in self.asked.one.roles:
            for package in plain(profile.packages.get(role, ())):
                pins = [s.versions[package] for s in profile.sources.values() if package in s.versions]
                if package in own and (pins or package.startswith(("ceph", "radosgw"))):
                    found[package] = pins[-1] if pins else f"{self.asked.wanted}*"
        return found

    def facts(self, nodes: Sequence[Node]) -> dict[str, CephFacts]:
        """Return each node with what it has of ceph."""
        seen = versions.collect(self.asked.before, self.asked.cluster.fleet, nodes, "ceph")
        found = {name: CephFacts(silent=str(why)) for name, why in seen["unreachable"].items()}
        for name, fact in seen["nodes"].items():
            stale = tuple(p for p in fact["stale"] if p.startswith(("ceph-", "radosgw")))
            found[name] = CephFacts(dict(fact["ceph_daemons"]), fact["ceph_installed"] or "", stale)
        return found

    def fact(self, node: str) -> CephFacts:
        """Return what one node has of ceph."""
        return self.facts([self.asked.cluster.site.node(node)]).get(node, CephFacts(silent="no answer"))

    def installed(self, nodes: Sequence[Node], packages: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return node to the versions of its packages; nothing of a node that cannot be asked."""
        return UpgradeNodes(self.asked.cluster).installed(nodes, packages) if packages else {}

    def is_new(self, version: str) -> bool:
        """Return whether a version is the wanted one."""
        wanted = numbers(self.asked.wanted)
        return numbers(version)[: len(wanted)] == wanted

    def has_packages(self, node: Node) -> bool:
        """Return whether a node's packages are the new ones, and their transaction was not cut off."""
        moves = self.moves(node)
        if self.asked.cluster.state.entry("base", node.name).state is not PhaseState.DONE:
            return False
        found = self.installed([node], list(moves)).get(node.name, {})
        return all(fnmatchcase(found.get(package, ""), pattern) for package, pattern in moves.items())

    def install(self, name: str, tell: Tell) -> None:
        """Bring a node's packages to the new version in one transaction, by the phase base; nothing where they are.

        No daemon is restarted by it: packages of ceph start what does not run, and leave what runs.

        Raises:
            AvadmError: the phase failed (exit 1).
            KeyboardInterrupt: it was stopped.
        """
        node = self.asked.cluster.site.node(name)
        if self.has_packages(node):
            return
        site_file, state = self.asked.after, self.asked.cluster.state
        steps = [one for one in schedule(site_file.site, state, ("base",), [name]) if one.name == "base"]
        own: dict[str, dict[str, Any]] = {name: {"base_upgrade": self.moves(node)}}
        request = Request(self.asked.command, limit=[name], own=own)
        run_phases(
            self.asked.cluster,
            site_file,
            steps,
            request,
            tell,
            code="upgrade-failed",
            verb="upgrade",
            host=name,
        )

    def restart(self, node: str, units: Sequence[str]) -> None:
        """Restart units together; AvadmError where that fails (exit 1)."""
        # A unit that was started often lately (this command, continued) would be refused else.
        reset, again = (shlex.join(["systemctl", verb, *units]) for verb in ("reset-failed", "restart"))
        self._run(node, f"{reset} 2>/dev/null; {again}", again, RESTART_S)

    def _run(self, node: str, command: str, words: str, timeout: float = ASK_S) -> str:
        try:
            return self.asked.cluster.first([node], command, "upgrade-command", words, timeout)
        except AvadmError as error:
            raise AvadmError(error.findings, EXIT_FOUND_BAD) from error

    def gateway_trouble(self, node: str) -> str:
        """Return why a node's gateway does not serve; "" where it does."""
        address = str(self.asked.cluster.site.node(node).address)
        done = self.asked.cluster.fleet.run(node, shlex.join([HEALTH, address]), timeout=ASK_S)
        return "" if done.ok else (str(done.error) if done.error else done.complaint)

    def mount_users(self, node: str) -> tuple[str, list[str]]:
        """Return the type of what is mounted where the file system belongs, "" for nothing, and who uses it."""
        fs = self.asked.cluster.site.components.ceph.filesystem
        if fs is None:
            return "", []
        cluster, python = self.asked.cluster, self.asked.before.profile.python
        found = ask(cluster.fleet, python, node, mount_uses.uses, {"mount": fs.mount}, ASK_S)
        return str(found["kind"]), [str(one) for one in found["users"]]

    def remount(self, node: str) -> None:
        """Restart what mounts the file system, so that the new client does; AvadmError where that fails.

        Unmounted first, and never lazily: where something has begun to use it meanwhile that is refused, and nothing is taken.
        """
        fs = self.asked.cluster.site.components.ceph.filesystem
        if fs is None:
            return
        path = shlex.quote(fs.mount)
        command = f"if mountpoint -q {path}; then umount {path}; fi && systemctl restart {MOUNT_UNIT}"
        self._run(node, command, f"umount {path}", RESTART_S)

    def mount_trouble(self, node: str) -> str:
        """Return why the mounted file system does not respond; "" where it does, or the site has none."""
        fs = self.asked.cluster.site.components.ceph.filesystem
        if fs is None:
            return ""
        check = (
            f"mountpoint -q {shlex.quote(fs.mount)} && timeout 20 stat -f {shlex.quote(fs.mount)} >/dev/null"
        )
        done = self.asked.cluster.fleet.run(node, check, timeout=ASK_S)
        return "" if done.ok else f"{fs.mount} does not respond"

    def in_kubernetes(self, node: str) -> bool:
        """Return whether pods run on a node."""
        site = self.asked.cluster.site
        return bool(site.with_role("master")) and "worker" in site.node(node).roles

    def drains(self, nodes: Sequence[str], done: Callable[[str], bool]) -> dict[str, DrainPart]:
        """Return node to its drain; ``done`` is whether a node's client is upgraded."""
        return each(self.asked.cluster, nodes, self.asked.drain, self.asked.accepted, done)

    def collations(self, node: str) -> list[str]:
        """Return the collations of a node's databases; AvadmError where PostgreSQL does not answer."""
        database = self.asked.cluster.site.components.database
        if database is None:
            return []
        query = "select distinct datcollate from pg_database union select distinct datctype from pg_database"
        # The server's own user, over its socket.
        argv = ["runuser", "-u", "postgres", "--", "psql", "-p", str(database.port), "-AtXqc", query]
        return sorted(self._run(node, shlex.join(argv), "psql").split())

    def due(self) -> list[str]:
        """Return the phases of ceph that have not run with the new profile everywhere."""
        return [one for one in pending(self.asked.cluster, self.asked.after).phases if one in PHASES]

    def apply(self, nodes: Sequence[str], tell: Tell) -> None:
        """Run ceph's phases with the new profile on all its nodes; AvadmError where one fails (exit 1)."""
        site_file, state = self.asked.after, self.asked.cluster.state
        steps = schedule(site_file.site, state, ("base", *PHASES), list(nodes))
        run_phases(
            self.asked.cluster,
            site_file,
            steps,
            Request(self.asked.command, limit=list(nodes)),
            tell,
            code="upgrade-failed",
            verb="upgrade",
            host=", ".join(nodes),
        )


def unknown(name: str, why: str) -> AvadmError:
    """Return the error of a node whose versions cannot be asked."""
    return AvadmError(finding("upgrade-version-unknown", host=name, found=why, name="ceph"), EXIT_FOUND_BAD)

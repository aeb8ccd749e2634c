"""A site's nodes as `avadm upgrade` works on them: which version runs, how well the component is, and one node's upgrade."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from avadm.checks import versions
from avadm.cluster.connection import Cluster
from avadm.components.catalog import UPGRADES, duties
from avadm.components.model import Upgradable
from avadm.components.monitoring.variables_tls import asked_with
from avadm.engine.request import Request
from avadm.engine.session import schedule
from avadm.operations.etcd_members import EtcdMembers
from avadm.operations.model import Tell
from avadm.operations.phase import run_phases
from avadm.remote.call import ask, mapping
from avadm.site.load import SiteFile
from avadm.site.model import Node
from avadm.state.site_state import PhaseState
from avadm_node.probes import monitoring

ALERTMANAGER = "alertmanager"


@dataclass(frozen=True, slots=True)
class UpgradeNodes:
    """The nodes of a site.

    Attributes:
        cluster: the site.
    """

    cluster: Cluster

    @property
    def etcd(self) -> EtcdMembers:
        """The members of etcd."""
        return EtcdMembers(self.cluster)

    def of(self, one: Upgradable) -> list[Node]:
        """Return the nodes that run a component, in the site file's order."""
        site = self.cluster.site
        return [n for n in site.nodes if one.duty in duties(site, n)]

    def running(self, one: Upgradable, nodes: Sequence[Node]) -> dict[str, str]:
        """Return node to the version that runs there; "" where none answers."""
        return versions.running(self.cluster.site_file, self.cluster.fleet, nodes, one.name)

    def installed(self, nodes: Sequence[Node], packages: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return node to the versions of its packages; nothing of a node that cannot be asked."""
        command = "dpkg-query -W -f '${Package}\\t${Version}\\n' " + " ".join(packages)
        came = self.cluster.fleet.map({n.name: command for n in nodes}, timeout=60.0)
        return {
            name: dict(line.split("\t", 1) for line in result.stdout.split("\n") if "\t" in line)
            for name, result in came.items()
            if result.error is None
        }

    def settled(self, one: Upgradable, node: str) -> bool:
        """Return whether the last run of the component's phase on a node came to its end."""
        return self.cluster.state.entry(UPGRADES[one.name][0].name, node).state is PhaseState.DONE

    def troubles(self, one: Upgradable) -> dict[str, str]:
        """Return node (or ``cluster``) to what keeps a component from being well; nothing where it is."""
        if one.name == "etcd":
            return self.etcd.troubles()
        site_file, nodes = self.cluster.site_file, self.of(one)
        program = versions.PROGRAMS[one.name]
        tls = asked_with(site_file.site, site_file.profile).get(one.name)
        scheme, mesh = "https" if tls else "http", one.name == ALERTMANAGER
        given = {
            n.name: {"url": f"{scheme}://{n.address}:{program.metrics}", "tls": tls, "mesh": mesh}
            for n in nodes
        }
        answers = ask(
            self.cluster.fleet, site_file.profile.python, monitoring.ask, given, read=mapping, timeout=30.0
        )
        found = {}
        for name, answer in answers.items():
            why = answer.why if answer.value is None else str(answer.value["why"])
            members = None if answer.value is None else answer.value["members"]
            if why:
                found[name] = f"{one.name} is not ready: {why}"
            elif members is not None and members != len(nodes):
                found[name] = f"its mesh is {members} of {len(nodes)}"
        return found

    def bring(
        self,
        site_file: SiteFile,
        one: Upgradable,
        node: str,
        moves: Mapping[str, str],
        command: str,
        tell: Tell,
    ) -> None:
        """Run the phases base and the component's own on one node, with packages that change their version.

        Args:
            site_file: the site with the profile that the node is to have.
            one: the component.
            node: the node; no other is touched.
            moves: package to the version pattern that it is brought to.
            command: what continues it.
            tell: shows one line.

        Raises:
            AvadmError: a phase failed, the check of the version that runs included (exit 1).
            KeyboardInterrupt: it was stopped.
        """
        phase = UPGRADES[one.name][0].name
        steps = schedule(site_file.site, self.cluster.state, ("base", phase), [node])
        request = Request(command, limit=[node], own={node: {f"{one.role}_upgrade": dict(moves)}})
        run_phases(
            self.cluster, site_file, steps, request, tell, code="upgrade-failed", verb="upgrade", host=node
        )

"""A site's nodes as `avadm upgrade` works on them: which version runs, how well the component is, and one node's upgrade."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from avadm.checks import versions
from avadm.cluster.connection import Cluster
from avadm.cluster.setting import Setting
from avadm.components.catalog import BY_NAME, UPGRADES, duties
from avadm.components.model import Upgradable
from avadm.components.monitoring.variables_tls import asked_with
from avadm.engine.request import Request
from avadm.engine.session import schedule
from avadm.findings import Finding
from avadm.operations.balancer_nodes import BalancerNodes
from avadm.operations.database_members import DatabaseMembers
from avadm.operations.drain import DrainOptions, DrainPart
from avadm.operations.engine_nodes import EngineNodes
from avadm.operations.etcd_members import EtcdMembers
from avadm.operations.model import Tell
from avadm.operations.phase import run_phases
from avadm.remote.call import ask, mapping
from avadm.site.load import SiteFile
from avadm.site.model import Node
from avadm.state.site_state import PhaseState
from avadm_node.probes import monitoring

ALERTMANAGER, BALANCER, DATABASE, ENGINE, ETCD = "alertmanager", "haproxy", "postgresql", "docker", "etcd"


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

    @property
    def database(self) -> DatabaseMembers:
        """The members of PostgreSQL."""
        return DatabaseMembers(self.cluster)

    @property
    def engine(self) -> EngineNodes:
        """The nodes with the container engine."""
        return EngineNodes(self.cluster)

    @property
    def balancer(self) -> BalancerNodes:
        """The nodes with haproxy."""
        return BalancerNodes(self.cluster)

    def of(self, one: Upgradable) -> list[Node]:
        """Return the nodes that run a component, in the site file's order."""
        site = self.cluster.site
        return [n for n in site.nodes if one.duty in duties(site, n)]

    def running(self, program: str, nodes: Sequence[Node]) -> dict[str, str]:
        """Return node to the version of a program that runs there; "" where none answers."""
        return versions.running(self.cluster.site_file, self.cluster.fleet, nodes, program)

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
        """Return whether the last runs of the component's phases on a node came to their end."""
        return all(
            self.cluster.state.entry(p, node).state is PhaseState.DONE for p in self._phases(one, node)
        )

    def _phases(self, one: Upgradable, node: str) -> list[str]:
        """Return the phases of a component in which a node takes part."""
        site = self.cluster.site
        every = [UPGRADES[one.name][0], *(BY_NAME[name] for name in one.with_phases)]
        return [c.name for c in every if node in c.phase.hosts(site)]

    def leader(self, one: Upgradable) -> str:
        """Return the node whose turn comes last; "" where all are equal.

        Raises:
            AvadmError: the component could not be asked.
        """
        if one.name == ETCD:
            return self.etcd.leader()
        return self.database.leader() if one.name == DATABASE else ""

    def prepare(self, one: Upgradable, node: str, tell: Tell) -> None:
        """Have others do the work of a node whose turn it is.

        Raises:
            AvadmError: they could not take it (exit 1).
        """
        if one.name == ETCD and (heir := self.etcd.hand_over(node)):
            tell(f"    {heir} leads now")
        elif one.name == DATABASE and (heir := self.database.hand_over(node, tell)):
            tell(f"    {heir} is the primary now")

    def settings(self, one: Upgradable, node: str) -> tuple[Setting, ...]:
        """Return what is set while a node is upgraded, beside what its drain sets."""
        if one.name == ETCD:
            # An API server asks the member on its own node alone, and hangs while that one is away.
            return self.balancer.api_server(node)
        return self.balancer.settings(node) if one.name == BALANCER else ()

    def drains(
        self,
        one: Upgradable,
        nodes: Sequence[str],
        options: DrainOptions,
        accepted: Collection[str],
        done: Callable[[str], bool],
    ) -> dict[str, DrainPart]:
        """Return node to its drain, of those that must be empty while they are upgraded.

        Args:
            one: the component.
            nodes: its nodes that are not upgraded yet.
            options: how they are drained.
            accepted: ids of refusals that the user accepts.
            done: whether a node is upgraded.
        """
        return self.engine.drains(nodes, options, accepted, done) if one.name == ENGINE else {}

    def refusals(self, one: Upgradable, nodes: Sequence[str]) -> list[Finding]:
        """Return what else forbids the upgrade of a component on nodes, beside versions and troubles."""
        return self.engine.refusals(nodes) if one.name == ENGINE else []

    def troubles(self, one: Upgradable, node: str = "") -> dict[str, str]:
        """Return node (or ``cluster``) to what keeps a component from being well; nothing where it is.

        Args:
            one: the component.
            node: the one that was just upgraded, of which more is asked.
        """
        if one.name == ETCD:
            return self.etcd.troubles()
        if one.name == DATABASE:
            return self.database.troubles()
        if one.name == ENGINE:
            return self.engine.troubles(node)
        if one.name == BALANCER:
            return self.balancer.troubles()
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
        steps = schedule(site_file.site, self.cluster.state, ("base", *self._phases(one, node)), [node])
        own = {f"{role}_upgrade": dict(moves) for role in one.roles}
        request = Request(command, limit=[node], own={node: own})
        run_phases(
            self.cluster, site_file, steps, request, tell, code="upgrade-failed", verb="upgrade", host=node
        )

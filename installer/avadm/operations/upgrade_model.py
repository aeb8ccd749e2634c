"""What a component that is no row of equal nodes brings to `avadm upgrade`: steps of its own, in an order of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from avadm.cluster.connection import Cluster
from avadm.components.model import Upgradable
from avadm.findings import Finding
from avadm.operations.drain import DRAIN, DrainOptions
from avadm.operations.etcd_members import EtcdMembers
from avadm.operations.model import Interruption, LeavingRun, Step
from avadm.site.load import SiteFile


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be upgraded.

    Attributes:
        cluster: the site as it runs.
        one: the component.
        command: what continues the upgrade; identifies it.
        before: the site with the profile that the component has now.
        after: the site with the one that it is to have; its ``profile`` has the component's versions, packages and sources.
        accepted: ids of refusals that the user accepts.
        drain: how nodes are drained.
    """

    cluster: Cluster
    one: Upgradable
    command: str
    before: SiteFile
    after: SiteFile
    accepted: frozenset[str] = frozenset()
    drain: DrainOptions = DRAIN

    @property
    def wanted(self) -> str:
        """The version, as the profile has it: a prefix such as ``18.2.``."""
        return self.after.profile.versions[self.one.name]

    @property
    def resumed(self) -> bool:
        """Whether the same command was stopped, which explains mixed versions and what is not well at its node."""
        return any(one.command == self.command for one in self.cluster.state.begun())


@dataclass(frozen=True, slots=True)
class Part:
    """The part of an upgrade that a component has planned; its attributes are those of an `Operation`.

    Attributes:
        steps: what is done, in this order; where nothing is left to do the steps' ``done`` report it.
        components: phases that must not run while it is half done, beside the component's own.
        interrupts: what users notice.
        packages: what changes, ``NODE: NAME OLD → NEW``.
        refusals: what speaks against it, all of one pass.
        acceptable: ids of refusals that a user may accept.
        runs: AVA's runs that leave nodes.
    """

    steps: Sequence[Step] = ()
    components: frozenset[str] = frozenset()
    interrupts: Sequence[Interruption] = ()
    packages: Sequence[str] = ()
    refusals: Sequence[Finding] = ()
    acceptable: frozenset[str] = field(default=frozenset())
    runs: Sequence[LeavingRun] = ()


def snapshot_step(cluster: Cluster, etcd: EtcdMembers, command: str, node: str) -> Step:
    """Return the step that takes a snapshot of etcd, once in the operation that a command continues.

    Args:
        cluster: the site.
        etcd: the members.
        command: what continues the operation.
        node: the member's node that the plan names for it.
    """

    def done() -> bool:
        begun = next(one.started for one in cluster.state.begun() if one.command == command)
        return etcd.has_snapshot(begun)

    return Step(
        "take a snapshot of etcd and check it",
        lambda tell: tell(f"    kept on {etcd.snapshot()}"),
        nodes=(node,),
        done=done,
    )


Planner = Callable[[Asked], Part]
"""Plans a component's part from what the cluster reports; changes nothing. AvadmError where it cannot be asked."""


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version or its prefix: ``2.53.`` gives (2, 53), ``2.6.12-1+deb12u4`` (2, 6, 12, 1, 12, 4)."""
    first = version.partition(" ")[0]
    return tuple(int(n) for n in re.findall(r"\d+", first)) if first[:1].isdigit() else ()

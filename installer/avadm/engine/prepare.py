"""From a site file to a run that can start: plan, inventory, secrets, digests, ledger, lock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from avadm import paths
from avadm.artifacts.requirements import Missing, missing
from avadm.components.catalog import PHASES
from avadm.engine.digest import Digests, same
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.inventory import vault_guard
from avadm.inventory.model import STATE_KEY
from avadm.plan.graph import ScheduledPhase, make_plan
from avadm.state.lock_nodes import LockNodes, Seen
from avadm.state.replication import StateReplica
from avadm.state.site_state import PhaseState, SiteState, state_folder
from avadm.state.snapshots import SnapshotStore

if TYPE_CHECKING:
    from avadm.remote.fleet import Fleet
    from avadm.site.load import SiteFile
    from avadm.site.model import Site


@dataclass(frozen=True)
class SiteContext:
    """What plan, apply and status ask about a site.

    Attributes:
        site_file: the loaded site file.
        ledger: the site's ledger.
        digests: digests of each phase's inputs now.
        fingerprints: what each phase left behind.
    """

    site_file: SiteFile
    ledger: SiteState
    digests: Digests
    fingerprints: SnapshotStore

    @classmethod
    def of(cls, site_file: SiteFile, *, tolerant: bool = False) -> SiteContext:
        """Return the context of a site file; nothing is written. ``tolerant`` is that of Ledger."""
        name = site_file.site.name
        prints = SnapshotStore(state_folder(site_file.path, name) / "fingerprints.json")
        return cls(
            site_file, SiteState.of(site_file.path, name, tolerant=tolerant), _digests(site_file), prints
        )

    def refreshed(self) -> SiteContext:
        """Return the context with the inputs of now: rendering makes secrets on the first run."""
        return replace(self, digests=_digests(self.site_file))

    @property
    def state_folder(self) -> Path:
        """The folder of the site's ledger and lock."""
        return state_folder(self.site_file.path, self.site_file.site.name)

    def state_key(self) -> str | None:
        """Return the vault's key that signs the ledger's copies; None where the vault has none yet."""
        from avadm.site.vault import Vault

        return Vault.open(self.site_file.path).ensure({}).get(STATE_KEY)

    def undone(self) -> set[str]:
        """Return the phases that are not done on all their nodes."""
        site = self.site_file.site
        return {p.name for p in PHASES if not self.ledger.done(p.name, p.hosts(site))}

    def plan(
        self, names: Sequence[str], limit: Sequence[str], *, resume: bool = False
    ) -> list[ScheduledPhase]:
        """Return the plan for phases and nodes; with ``resume`` without what is done with the same inputs.

        Raises:
            AvadmError: unknown phases, or nothing takes part.
        """
        steps = make_plan(self.site_file.site, names, limit=limit, pull_in=self.undone())
        if not resume:
            return steps
        left = [s.name for s in steps if not self.current(s)]
        return make_plan(self.site_file.site, left, limit=limit) if left else []

    def current(self, step: ScheduledPhase) -> bool:
        """Return whether a step is done on all its hosts with the inputs of now."""
        return all(
            (e := self.ledger.entry(step.name, h)).state is PhaseState.DONE
            and same(e.digest, self.digests.host(step.phase, h))
            for h in step.hosts
        )


def newest(
    site_file: SiteFile, nodes: LockNodes, seen: Seen, *, write: bool = True
) -> tuple[SiteContext, StateReplica, str]:
    """Return a site's context with the newest ledger that is kept anywhere, its mirror, and what people must know of that.

    Args:
        site_file: the site file.
        nodes: the nodes that keep the site's lock and copies of its ledger.
        seen: what they said of these copies.
        write: whether a newer ledger is kept on this controller too.

    Raises:
        AvadmError: the ledger is damaged everywhere, or the site's vault is lost.
    """
    context = SiteContext.of(site_file, tolerant=True)
    mirror = StateReplica(nodes, context.ledger, context.fingerprints, context.state_key)
    note = mirror.fetch(seen, write=write)
    if gone := vault_guard.of(site_file, mirror.copies):
        raise AvadmError(gone)
    return context, mirror, note


def artifacts_missing(site: Site, steps: Sequence[ScheduledPhase]) -> list[Missing]:
    """Return what steps install and the cache has not, by the records of the cache alone."""
    return missing(site, (s.phase for s in steps), deep=False)


def refuse_missing(site: Site, steps: Sequence[ScheduledPhase]) -> None:
    """Refuse steps that install artifacts which the cache has not, or not whole.

    Raises:
        AvadmError: with each of them.
    """
    if lacking := missing(site, (s.phase for s in steps)):
        raise AvadmError([one.finding() for one in lacking])


def _digests(site_file: SiteFile) -> Digests:
    from avadm.inventory.render import variables
    from avadm.site.vault import Vault

    vault = Vault.open(site_file.path)
    roles = {node.name: node.roles for node in site_file.site.nodes}
    return Digests(variables(site_file), paths.home(), roles, lambda: vault.ensure({}))


def versions_hook(site_file: SiteFile, fleet: Fleet) -> Callable[[str, Sequence[str]], list[Finding]]:
    """Return the check that runs after each phase (I7), on the nodes on which the phase went well."""
    from avadm.checks.versions import check

    def hook(phase: str, hosts: Sequence[str]) -> list[Finding]:
        return check(site_file, fleet, phase, [n for n in site_file.site.nodes if n.name in hosts])

    return hook

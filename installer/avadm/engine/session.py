"""A site as one command works on it: opened under its lock, its phases chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from avadm.components.catalog import PHASES
from avadm.inventory.desired import Keyring
from avadm.inventory.model import STATE_KEY
from avadm.inventory.vault_guard import refuse_lost
from avadm.plan.graph import ScheduledPhase, make_plan
from avadm.state.lock.nodes import LockNodes, LockReplies
from avadm.state.lock.site import lock_site
from avadm.state.records import SiteRecords
from avadm.state.replication import StateReplica
from avadm.state.site_state import state_folder

if TYPE_CHECKING:
    from avadm.remote.fleet import Fleet
    from avadm.site.load import SiteFile
    from avadm.site.model import Site
    from avadm.state.site_state import SiteState


@dataclass(frozen=True, slots=True)
class Session:
    """A site that a command has opened.

    Attributes:
        site_file: the site.
        keyring: its vault and certificates.
        records: what is recorded of it.
        replica: the copies of the records on its nodes.
        note: what people must know of these copies.
    """

    site_file: SiteFile
    keyring: Keyring
    records: SiteRecords
    replica: StateReplica
    note: str = ""

    @classmethod
    def open(
        cls,
        site_file: SiteFile,
        nodes: LockNodes,
        seen: LockReplies,
        *,
        write: bool = True,
        vault_lost: bool = False,
    ) -> Session:
        """Open a site with the newest records that are kept anywhere.

        Args:
            site_file: the site.
            nodes: the nodes that keep the site's lock and copies of its records.
            seen: what they reported of these copies.
            write: whether newer records are kept on this controller too.
            vault_lost: whether the site's vault may be lost, as to somebody who only looks.

        Raises:
            AvadmError: the state is damaged everywhere, the certificates cannot be read, or the vault is lost.
        """
        keyring = Keyring.open(site_file.path)
        records = SiteRecords.of(site_file.path, site_file.site.name, tolerant=True)
        # A key that was not there yet is there once the vault has been made.
        replica = StateReplica(
            nodes, records.state, records.snapshots, lambda: keyring.vault.read().get(STATE_KEY)
        )
        note = replica.fetch(seen, write=write)
        if not vault_lost:
            refuse_lost(site_file, keyring.vault, replica.copies)
        return cls(site_file, keyring, records, replica, note)

    @property
    def fleet(self) -> Fleet:
        """How the site's nodes are reached."""
        return self.replica.nodes.fleet


@contextmanager
def lock_session(
    site_file: SiteFile,
    fleet: Fleet,
    verb: str,
    tell: Callable[[str], None],
    *,
    break_lock: bool = False,
    dry_run: bool = False,
) -> Iterator[Session]:
    """Hold the site's lock, and yield the site as it was opened under it.

    Args:
        site_file: the site.
        fleet: ssh to its nodes.
        verb: what runs, for the message to a refused run.
        tell: shows one line for people.
        break_lock: whether a lock of another run is removed from the nodes.
        dry_run: whether nothing is changed, not even by a lock on the nodes.

    Raises:
        AvadmError: the site is locked, too few nodes answer, its records are damaged everywhere, or its vault is lost.
    """
    nodes = LockNodes(site_file, fleet)
    folder = state_folder(site_file.path, site_file.site.name)
    with lock_site(nodes, folder, verb, tell, break_lock=break_lock, on_nodes=not dry_run) as seen:
        # The records are read under the lock: a run that was just ending has written its last word.
        session = Session.open(site_file, nodes, seen)
        if session.note:
            tell(session.note)
        if not dry_run:
            session.records.state.keepers = tuple(nodes.own)
        yield session


def schedule(
    site: Site, state: SiteState, names: Sequence[str], limit: Sequence[str] = ()
) -> list[ScheduledPhase]:
    """Return the phases that were named, and those that they need and that are not done yet, in order.

    Raises:
        AvadmError: unknown phases, or nothing takes part.
    """
    undone = {p.name for p in PHASES if not state.done(p.name, p.hosts(site))}
    return make_plan(site, names, limit=limit, pull_in=undone)

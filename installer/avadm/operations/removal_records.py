"""What the controller keeps of a node or a role that leaves: certificates, keys, host keys and records; then the site file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from avadm.components import certificates
from avadm.components.catalog import PHASES
from avadm.findings import Finding
from avadm.inventory.desired import Keyring
from avadm.inventory.variables import variables
from avadm.operations.follow import pending
from avadm.operations.model import Step, Tell
from avadm.operations.removal_model import Leaving
from avadm.operations.removal_services import LOG_STORE
from avadm.operations.site_change import change_site
from avadm.remote.hostkeys import KnownHosts
from avadm.remote.ssh import targets
from avadm.site import edit
from avadm.site.load import SiteFile, load
from avadm.site.text import read_text
from avadm.state.lock.nodes import LockNodes

Follow = Callable[[SiteFile, Tell], None]


def change(leaving: Leaving) -> edit.Change:
    """Return what happens to the site file; a second time changes nothing."""
    (role,) = ("",) if leaving.whole else tuple(leaving.roles)
    changes = []
    if leaving.whole or role == LOG_STORE:
        changes.append(edit.removing_log_store(leaving.name))
    if leaving.whole:
        changes.append(edit.removing(leaving.name))
    elif role != LOG_STORE:
        changes.append(edit.removing_role(leaving.name, role))

    def act(data: object) -> None:
        for inner in changes:
            try:
                inner(data)
            except (KeyError, ValueError):
                continue

    return act


def steps(leaving: Leaving, after: SiteFile, follow: Follow) -> Sequence[Step]:
    """Return the steps in the controller's files, and the one that brings the other nodes up to date.

    Args:
        leaving: the node.
        after: the site file as it will be.
        follow: runs what a changed site file asks for.
    """
    path = leaving.cluster.site_file.path
    return [
        Step("forget its certificates, keys and records", lambda tell: _forget(leaving, after)),
        Step("take it out of the site file", lambda tell: change_site(path, change(leaving), tell)),
        last(leaving, after, follow),
    ]


def last(leaving: Leaving, coming: SiteFile, follow: Follow) -> Step:
    """Return the step that brings the other nodes up to date with the site file as it will be."""
    cluster, due = leaving.cluster, pending(leaving.cluster, coming)

    def act(tell: Tell) -> None:
        after = load(cluster.site_file.path)
        cluster.state.keepers = tuple(LockNodes(after, cluster.fleet).own)
        follow(after, tell)
        cluster.push()

    # Hosts files, ceph.conf, packet filter, scrape targets, DNS: by the phases whose inputs change.
    return Step(f"apply what changes on other nodes: {due.text}", act, due.nodes)


def _forget(leaving: Leaving, after: SiteFile) -> None:
    cluster, name = leaving.cluster, leaving.name
    if cluster.replica is not None and (leaving.whole or "mon" in leaving.roles):
        # Those who keep the lock are the monitors: one that leaves gets no copy any more.
        cluster.replica.nodes.leave(name)
    before = cluster.site_file
    keyring = Keyring.open(before.path)
    unused = _secrets(before, keyring) - _secrets(after, keyring)
    kept = {leaf.name for leaf in certificates.leaves(after.site)}
    gone = {leaf.name for leaf in certificates.leaves(before.site)} - kept
    if gone & keyring.store.leaves.keys():
        left = {n: pem for n, pem in keyring.store.leaves.items() if n not in gone}
        replace(keyring.store, leaves=left).save()
    if keyring.vault.path.exists():
        keyring.vault.forget(unused)
    if leaving.whole:
        for target in targets(before, [name]):
            KnownHosts(before.known_hosts).forget(target.entry_names)
        cluster.state.forget(name)
        if cluster.replica is not None:
            cluster.replica.snapshots.forget(name)
    else:
        out = [p.name for p in PHASES if name in p.hosts(before.site) and name not in p.hosts(after.site)]
        cluster.state.forget(name, out)


def _secrets(site_file: SiteFile, keyring: Keyring) -> set[str]:
    """Return the names of the vault's variables that a site uses."""
    return {*certificates.makers(site_file.site), *variables(site_file, keyring.store).secrets}


def considered(leaving: Leaving) -> tuple[SiteFile | None, Sequence[Finding]]:
    """Return the site file as it will be, and what would be wrong with it."""
    path = leaving.cluster.site_file.path
    return edit.considered(path, edit.changed(read_text(path), change(leaving)))

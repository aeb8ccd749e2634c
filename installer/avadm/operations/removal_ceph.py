"""Ceph's part of a node's removal: OSDs emptied and purged when that is safe, then MDS, gateway, manager and monitor.

The weight in CRUSH is what empties OSDs: data move once. With ``osd out`` alone they would move a second time when the host's
bucket is removed.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from avadm.catalogue import finding
from avadm.cluster import health
from avadm.cluster.storage import Osd, Storage
from avadm.components.objects import object_pools
from avadm.errors import EXIT_FOUND_BAD, AvadmError
from avadm.findings import Finding
from avadm.operations.model import Gate, Interruption, Progress, Step, Tell
from avadm.operations.removal_model import STOP, Leaving, Part

EMPTY_PATIENCE_S = 1800.0
"""Seconds without progress of a recovery: a group that waits for its turn behind others shows none for long."""
HEALTH = "/usr/local/sbin/avadm-objects-health"
"""Given an address, whether a gateway answers there (roles/ceph_rgw)."""


def part(leaving: Leaving) -> Part:
    """Plan it; AvadmError where ceph cannot be asked."""
    if not leaving.cluster.site.with_role("mon"):
        return Part()
    if not leaving.cluster.asked("mon"):
        alone = finding("last-of-role", found="no other", wanted="3 or 5", host=leaving.name, role="mon")
        return Part(refusals=[alone])
    parts = [plan(leaving) for role, plan in PARTS.items() if role in leaving.roles]
    return Part(
        [step for one in parts for step in one.steps],
        [bad for one in parts for bad in one.refusals],
        [what for one in parts for what in one.interrupts],
    )


def osds(leaving: Leaving) -> Part:
    """Plan the removal of the node's OSDs and its host bucket."""
    cluster, name = leaving.cluster, leaving.name
    storage = Storage.read(cluster)
    ids = [one.id for one in storage.of(name)]
    steps = [
        Step(
            f"empty {_osds(ids)} (weight 0)",
            lambda tell: _empty(leaving, tell),
            # With its gate: one that was killed while it waited is not done.
            done=lambda: _emptied(leaving),
            gate=Gate(
                f"no data depend on {_osds(ids)} and all placement groups are active and clean",
                lambda: _left(leaving),
                patience=EMPTY_PATIENCE_S,
            ),
        ),
        Step(f"purge {_osds(ids)}", lambda tell: _purge(leaving, tell), nodes=leaving.touched),
    ]
    bucket = Step(
        f"remove the host bucket {name}",
        lambda tell: cluster.ceph("osd", "crush", "rm", name),
        done=lambda: name not in Storage.read(cluster).hosts,
    )
    if not ids:
        return Part([bucket] if name in storage.hosts else [])
    return Part([*steps, bucket], _osd_refusals(leaving, storage, ids))


def _osd_refusals(leaving: Leaving, storage: Storage, ids: Sequence[int]) -> list[Finding]:
    name, found = leaving.name, []
    if bad := storage.inactive:
        found.append(
            finding(
                "only-copy", found=", ".join(f"{n} {state}" for state, n in sorted(bad.items())), host=name
            )
        )
    elif storage.unfound:
        found.append(finding("only-copy", found=f"{storage.unfound} objects without a known copy", host=name))
    left = storage.domains_without(ids)
    if len(left) < storage.copies:
        kind = leaving.cluster.site.components.ceph.failure_domain
        found.append(
            finding(
                "copies-few",
                found=f"{len(left)}: {', '.join(sorted(left)) or 'none'}",
                wanted=f"{storage.copies} {kind}s with OSDs, one for each copy",
                host=name,
            )
        )
    elif (full := storage.fullest_without(ids)) >= storage.nearfull:
        found.append(
            finding(
                "space-short",
                found=f"{full:.0%} of the fullest OSD used afterwards",
                wanted=f"less than {storage.nearfull:.0%}",
                host=name,
            )
        )
    if leaving.dead and (up := [one.id for one in storage.osds if one.id in ids and one.up]):
        found.append(finding("not-dead", found=f"{_osds(up)} up", wanted="a node that is off", host=name))
    return found


def _empty(leaving: Leaving, tell: Tell) -> None:
    for one in Storage.read(leaving.cluster).of(leaving.name):
        if one.weight > 0:
            leaving.cluster.ceph("osd", "crush", "reweight", f"osd.{one.id}", "0")


def _emptied(leaving: Leaving) -> bool:
    own = Storage.read(leaving.cluster).of(leaving.name)
    return not own or (all(one.weight == 0 for one in own) and not _left(leaving).holds)


def _left(leaving: Leaving) -> Progress:
    """Return what still depends on the OSDs: groups on them, objects that move, groups that are not clean."""
    storage = Storage.read(leaving.cluster)
    own = storage.of(leaving.name)
    on_them = sum(one.groups for one in own if one.up)
    if on_them or storage.unclean:
        words = f"{on_them} groups on them, {storage.unclean} groups not active and clean, {storage.behind} objects to move"
        return Progress(words, on_them + storage.unclean + storage.behind)
    if unsafe := _unsafe(leaving, own):
        return Progress(f"`ceph osd safe-to-destroy` says no to {_osds(unsafe)}", 0.5)
    return Progress()


def _unsafe(leaving: Leaving, own: Sequence[Osd]) -> list[int]:
    """Return the OSDs that ceph does not call safe to destroy; AvadmError where it cannot say."""
    if not own:
        return []
    ids = [one.id for one in own]
    answer = leaving.cluster.ceph("osd", "safe-to-destroy", *map(str, ids))
    safe = set(answer.get("safe_to_destroy", ())) if isinstance(answer, dict) else set()
    return [id for id in ids if id not in safe]


def _purge(leaving: Leaving, tell: Tell) -> None:
    """Stop and purge the node's OSDs, one after the other, each only when ceph calls it safe."""
    cluster = leaving.cluster
    for one in Storage.read(cluster).of(leaving.name):
        if unsafe := _unsafe(leaving, [one]):
            raise AvadmError(
                finding(
                    "only-copy",
                    found=f"`ceph osd safe-to-destroy` says no to {_osds(unsafe)}",
                    host=leaving.name,
                ),
                EXIT_FOUND_BAD,
            )
        if not leaving.dead:
            # ceph-volume's unit would start it at the next boot; its disk is not written.
            leaving.run(
                f"for u in $(systemctl list-unit-files --no-legend 'ceph-volume@lvm-{one.id}-*' | cut -d' ' -f1); do "
                f"systemctl disable $u; done; {STOP.format(unit=f'ceph-osd@{one.id}')}"
            )
        # A clean stop reports itself to the monitors; a dead OSD was found by them.
        cluster.ceph("osd", "down", str(one.id))
        cluster.ceph("osd", "purge", str(one.id), "--yes-i-really-mean-it")
        tell(f"    osd.{one.id} purged")


def mds(leaving: Leaving) -> Part:
    """Plan the removal of the metadata server; a standby takes its rank over."""
    cluster, name = leaving.cluster, leaving.name
    up, wanted = health.metadata_servers(cluster)
    others = len(up - {name})
    refusals = []
    if wanted > others:
        refusals.append(
            finding("last-of-role", found=f"{others} others run", wanted=f"{wanted}", host=name, role="mds")
        )

    def act(tell: Tell) -> None:
        if leaving.dead:
            cluster.ceph("mds", "fail", name)
        else:
            leaving.run(STOP.format(unit=f"ceph-mds@{name}"))
        cluster.ceph("auth", "rm", f"mds.{name}")

    def look() -> Progress:
        dump = cluster.ceph("fs", "dump")
        active = sum(
            one["state"] == "up:active" and one["name"] != name
            for fs in dump["filesystems"]
            for one in fs["mdsmap"]["info"].values()
        )
        return (
            Progress()
            if active >= wanted
            else Progress(f"{active} of {wanted} ranks active", wanted - active)
        )

    step = Step(
        f"remove mds.{name}",
        act,
        leaving.touched,
        done=lambda: f"mds.{name}" not in _entities(leaving),
        gate=Gate("all ranks of the file system are active", look, patience=180.0),
    )
    pause = Interruption("cephfs pauses while a standby takes over, where this MDS is active", 60.0)
    return Part([step], refusals, [pause])


def rgw(leaving: Leaving) -> Part:
    """Plan the removal of the S3 gateway; its virtual address moves to another one's node."""
    cluster, name = leaving.cluster, leaving.name
    if not object_pools.gateways(cluster.site):
        return Part()
    others = leaving.others("rgw")
    # Each by its own address: on 127.0.0.1 haproxy answers for any gateway, the leaving one too.
    asked = {n: f"{HEALTH} {cluster.site.node(n).address}" for n in others}
    good = [n for n, done in cluster.fleet.map(asked, timeout=60.0).items() if done.ok] if asked else []
    refusals = []
    if not good:
        refusals.append(
            finding("last-of-role", found="no other serves", wanted="one that serves", host=name, role="rgw")
        )
    entity = object_pools.entity(leaving.node)
    units = f"keepalived avadm-objects-usage.timer ceph-radosgw@rgw.{name}"

    def act(tell: Tell) -> None:
        if not leaving.dead:
            # The address first, so that no request comes to a gateway that ends.
            leaving.run("; ".join(f"{{ {STOP.format(unit=unit)}; }}" for unit in units.split()))
        cluster.ceph("auth", "rm", entity)

    step = Step(
        f"remove the gateway rgw.{name}", act, leaving.touched, done=lambda: entity not in _entities(leaving)
    )
    return Part(
        [step], refusals, [Interruption("S3 through the virtual address, where this node holds it", 10.0)]
    )


def mgr(leaving: Leaving) -> Part:
    """Plan the removal of the manager; a standby takes over."""
    cluster, name = leaving.cluster, leaving.name
    dump = cluster.ceph("mgr", "dump")
    names = {dump.get("active_name", ""), *(one["name"] for one in dump.get("standbys", ()))} - {"", name}
    refusals = []
    if not names:
        refusals.append(
            finding("last-of-role", found="no other runs", wanted="one that runs", host=name, role="mgr")
        )

    def act(tell: Tell) -> None:
        if not leaving.dead:
            leaving.run(STOP.format(unit=f"ceph-mgr@{name}"))
        if cluster.ceph("mgr", "dump").get("active_name") == name:
            cluster.ceph("mgr", "fail", name)
        cluster.ceph("auth", "rm", f"mgr.{name}")

    def look() -> Progress:
        now = cluster.ceph("mgr", "dump")
        good = now.get("available") and now.get("active_name") != name
        return Progress() if good else Progress("no other manager is active", 1.0)

    step = Step(
        f"remove mgr.{name}",
        act,
        leaving.touched,
        done=lambda: f"mgr.{name}" not in _entities(leaving),
        gate=Gate("another manager is active", look, patience=180.0),
    )
    return Part([step], refusals)


def mon(leaving: Leaving) -> Part:
    """Plan the removal of the monitor; the others must be a quorum without it."""
    cluster, name = leaving.cluster, leaving.name
    found = health.monitors(cluster)
    known = found.members
    left, wanted = found.inside - {name}, len(known - {name}) // 2 + 1
    if name not in known:
        return Part()
    refusals = []
    if len(left) < wanted:
        refusals.append(
            finding(
                "quorum-lost",
                found=f"{len(left)}: {', '.join(sorted(left)) or 'none'}",
                wanted=f"{wanted} monitors in the quorum without {name}",
                host=name,
            )
        )

    def act(tell: Tell) -> None:
        cluster.ceph("mon", "remove", name)
        if not leaving.dead:
            store = shlex.quote(f"/var/lib/ceph/mon/ceph-{name}")
            # Kept aside: with it in place the node could never have a monitor again. Its mark says that it was made.
            # The limits of backfill are set by the monitors that are left.
            leaving.run(
                f"{{ {STOP.format(unit='avadm-ceph-backfill.timer')}; }}; {STOP.format(unit=f'ceph-mon@{name}')}; "
                f"rm -f /var/lib/avadm/founded/mon.json /etc/ceph/ceph.client.avadm-backfill.keyring; "
                f"if [ -d {store} ]; then mv {store} {store}.removed-$(date +%s); fi"
            )
        cluster.state.unfound("mon", name)

    def look() -> Progress:
        now = health.monitors(cluster)
        out = now.members - now.inside
        return Progress(f"not in the quorum: {', '.join(sorted(out))}", len(out)) if out else Progress()

    step = Step(
        f"remove mon.{name}",
        act,
        leaving.touched,
        done=lambda: name not in health.monitors(cluster).members,
        gate=Gate("all monitors that are left are in the quorum", look, patience=180.0),
    )
    return Part([step], refusals, [Interruption("ceph's clients wait while monitors elect", 10.0)])


def has_monitor(leaving: Leaving) -> bool:
    """Return whether the cluster has a monitor of the node's name, whatever the site file says."""
    return (
        bool(leaving.cluster.site.with_role("mon"))
        and leaving.name in health.monitors(leaving.cluster).members
    )


def _entities(leaving: Leaving) -> set[str]:
    return {one["entity"] for one in leaving.cluster.ceph("auth", "ls")["auth_dump"]}


def _osds(ids: Sequence[int]) -> str:
    return ", ".join(f"osd.{id}" for id in ids) or "no OSD"


PARTS = {"osd": osds, "mds": mds, "rgw": rgw, "mgr": mgr, "mon": mon}
"""Role to what plans its removal, in the order in which they leave."""

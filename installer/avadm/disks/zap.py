"""Erasing one disk: what forbids it, what is shown, what is written down."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from avadm.catalogue import finding
from avadm.disks.nodes import Disk, ask
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.remote.fleet import Fleet
from avadm.site.model import Site
from avadm.state import summary
from avadm.state.lock.owner import user
from avadm.state.run_folder import RunFolder, write_atomic
from avadm_node.probes.disks import zap

NO_STORE = 66
"""Exit status of a node without a monitor's store."""
MARK = "/var/lib/avadm/founded/mon.json"
"""What says that a monitor was bootstrapped on a node (plugins/module_utils/avadm_bootstrap_mark.py)."""


CONFIG = "/etc/ceph/ceph.conf"


def target(disk: Disk) -> dict[str, Any]:
    """Return what names a disk to avadm_node's zap: it must still be that one when it is erased."""
    report = disk.report
    if not report["approval"]:
        raise AvadmError(_refusal(disk, report["reasons"]))
    return {
        "approval": report["approval"],
        "numbers": report["numbers"],
        "serial": report["serial"],
        "bytes": report["size"],
    }


def refuse_used(fleet: Fleet, site: Site, python: str, disk: Disk, fsid: str) -> None:
    """Raise AvadmError with all that forbids that a disk is erased; ``fsid`` is our cluster's, "" where there is none."""
    seen = ask(fleet, python, disk.node, zap.look, target(disk))
    reasons = list(seen["reasons"])
    osds = {
        str(one["fsid"]): one
        for one in [*seen["osds"], *([disk.report["osd"]] if disk.report["osd"] else [])]
    }
    if osds or seen["unread"]:
        reasons += _still_ours(fleet, site, list(osds.values()), seen["unread"], fsid)
    if reasons:
        raise AvadmError(_refusal(disk, reasons))


def _still_ours(
    fleet: Fleet, site: Site, osds: Sequence[Mapping[str, Any]], unread: str, fsid: str
) -> list[str]:
    """Return why what ceph has left on a disk may not be erased: the cluster still has it, or no one can say.

    What does not say of which cluster it is counts as ours.
    """
    known = _known(fleet, site)
    if not fsid and (known == {} or not site.with_role("mon")):
        return []  # this site has no cluster yet
    if unread:
        return [
            f"bears {unread}: that is taken for an OSD of this cluster. Remedy: find out which one it is (`ceph-volume lvm"
            " list`, `ceph-bluestore-tool show-label` on the node); if it may go, `wipefs --all` there"
        ]
    reasons = []
    for osd in osds:
        name = f"osd.{'?' if osd['id'] is None else osd['id']}"
        if known is None and fsid and osd["cluster"] not in (None, fsid):
            reasons.append(
                f"is {name} of another cluster by its label, and no monitor of ours could say that it is not ours"
            )
        elif known is None:
            whose = "this cluster" if fsid else "a cluster"
            reasons.append(f"is {name} of {whose}, and no monitor could say whether it still belongs to it")
        elif osd["fsid"] in known:
            reasons.append(
                f"is osd.{known[osd['fsid']]} of this cluster. Remedy: take it out, wait until `ceph osd safe-to-destroy "
                f"{known[osd['fsid']]}` says yes, stop it, then `ceph osd purge {known[osd['fsid']]} --yes-i-really-mean-it`"
            )
    return reasons


def _known(fleet: Fleet, site: Site) -> dict[str, int] | None:
    """Return the cluster's OSDs, UUID to id, as any monitor node says; None where none can say.

    Where every monitor node answers that it has no monitor's store and never had one, there is no cluster yet and none is
    known. A store that is away (a disk that is not mounted) left its mark; where an earlier release made it, ceph.conf.
    """
    # The node of the disk need not have ceph's tools: a monitor's node has.
    there = 'test -n "$(ls -A /var/lib/ceph/mon 2>/dev/null)"'
    command = (
        f"{there} || test -e {MARK} || test -s {CONFIG} || exit {NO_STORE};"
        " ceph --connect-timeout 20 osd dump --format json"
    )
    messages = []
    for node in site.with_role("mon"):
        result = fleet.run(node.name, command, timeout=60)
        messages.append(result.rc)
        try:
            if result.ok:
                return {str(one["uuid"]): int(one["osd"]) for one in json.loads(result.stdout)["osds"]}
        except (ValueError, KeyError, TypeError):
            continue
    return {} if messages and set(messages) == {NO_STORE} else None


def _refusal(disk: Disk, reasons: list[str]) -> Finding:
    return finding(
        "disk-in-use",
        where=f"{disk.report['real']} ({disk.confirmation})",
        found="; ".join(reasons),
        wanted="an unused disk",
        host=disk.node,
    )


def erase(fleet: Fleet, site: Site, python: str, disk: Disk) -> RunFolder:
    """Erase a disk, with an entry of who, when and what before and after; return the run folder.

    Raises:
        AvadmError: it is in use by now, or is not blank afterwards.
    """
    folder = RunFolder.create("disk-zap")
    begun = datetime.now(UTC)
    record: dict[str, Any] = {
        "site": site.name,
        "who": user(),
        "from": socket.gethostname(),
        "when": f"{begun:%Y-%m-%dT%H:%M:%SZ}",
        "disk": disk.as_dict(),
        "result": "begun",
    }
    folder.write_json("zap.json", record)
    trouble: AvadmError | None = None
    try:
        answer = ask(fleet, python, disk.node, zap.zap, target(disk))
    except AvadmError as error:
        # The connection may have broken when the node had begun.
        record["result"], trouble = "not known", error
    else:
        record |= answer
        record["result"], finding = _outcome(disk, answer)
        trouble = AvadmError(finding) if finding else None
    seconds = round((datetime.now(UTC) - begun).total_seconds(), 1)
    folder.write_json("zap.json", {**record, "seconds": seconds})
    changed = 0 if record["result"] == "refused" else 1
    result = "failed" if trouble else "good"
    summary.write(folder, {"site": site.name, "result": result, "seconds": seconds, "changed": changed})
    line = f"{record['when']} {record['who']}@{record['from']} zap {disk.node} {disk.report['real']} "
    write_atomic(folder.log, f"{line}{disk.confirmation}: {record['result']}\n")
    if trouble:
        raise trouble
    return folder


def _outcome(disk: Disk, answer: dict[str, Any]) -> tuple[str, Finding | None]:
    """Return what came of it, in a word, and what is wrong with it."""
    if answer["reasons"]:
        return "refused", _refusal(disk, answer["reasons"])
    if answer["after"]["state"] == "blank":
        return "blank", None
    return "not blank", finding(
        "disk-not-blank",
        where=disk.report["real"],
        found="; ".join(answer["after"]["reasons"]),
        wanted="blank",
        host=disk.node,
    )

"""The code that judges disks, as text for a node's Python: the very files that the Ansible modules use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from avadm.runner import nodecode

if TYPE_CHECKING:
    from avadm.site.model import Node, Site

# In the order in which they import one another.
MODULES = (
    "avadm_content",
    "avadm_machine",
    "avadm_devices",
    "avadm_disks",
    "avadm_osd",
    "avadm_osd_marks",
    "avadm_disk_report",
    "avadm_zap",
)


def proof(site: Site, node: Node) -> dict[str, object] | None:
    """Return what checks/probe.py needs to have a node's approved devices judged; None where there are none."""
    if not node.devices:
        return None
    return {"loader": nodecode.LOADER, "sources": nodecode.sources(MODULES), **approvals(site, node)}


def approvals(site: Site, node: Node, fsid: str = "") -> dict[str, object]:
    """Return the approvals of a node, and what else the role ceph_osd is given for judging them.

    Without ``fsid``, the vault's, the node's own ceph.conf says which cluster is ours; one that is installed anew has none.
    """
    names = {"by_id", "serial", "wwn"}
    variables = {**site.extra_vars, **node.vars}
    return {
        "devices": [d.model_dump(include=names, exclude_none=True) for d in node.devices],
        "fsid": fsid,
        "min_bytes": variables.get("ceph_osd_min_bytes"),
    }


def script(call: str, parameters: object) -> str:
    """Return a Python program that prints what a function of these files returns; see runner/nodecode.py."""
    return nodecode.script(MODULES, call, parameters)

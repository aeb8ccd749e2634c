"""The approvals of a node's disks, as its code is given them."""

from __future__ import annotations

from avadm.site.model import Node, Site


def approvals(site: Site, node: Node, fsid: str = "") -> dict[str, object]:
    """Return the approvals of a node, and what else the role ceph_osd is given for judging them.

    Without ``fsid``, the vault's, the node's own ceph.conf says which cluster is ours; one that is reinstalled has none.
    """
    names = {"by_id", "serial", "wwn"}
    variables = {**site.extra_vars, **node.vars}
    return {
        "devices": [d.model_dump(include=names, exclude_none=True) for d in node.devices],
        "fsid": fsid,
        "min_bytes": variables.get("ceph_osd_min_bytes"),
    }

"""What the doctor asks of the object store, without a key."""

from __future__ import absolute_import

from .services import answer, figures

USAGE = ("avadm_objects_user_bytes", "avadm_objects_user_objects")
USAGE += ("avadm_objects_user_quota_bytes", "avadm_objects_user_quota_objects")


def objects(params):
    """Whether this node's gateway and the virtual address answer, and what users have by the last count."""
    report, authority = params["objects"], "/etc/avadm/objects/ca.crt"
    return {
        "gateway": answer(params["address"], report["port"], "/", authority),
        "address": answer(report["vip"], report["port"], "/", authority) if report["vip"] else None,
        "usage": figures("avadm-objects-usage.prom", "avadm-objects-usage.timer", USAGE),
    }

"""Who may do what with the copies of etcd's snapshots in the site's own object store.

One bucket, whose owner's keys are on no node. Each member has a user of its own, which adds and removes below its own
name alone and reads all: a member may be lost with its disk, and what it reads is what its own database holds too.
"""

from __future__ import annotations

from typing import Any

from avadm.components.objects.object_pools import ETCD_COPIES, external_copies, own_copies
from avadm.site.model import Node, Site

OWNER_KEYS = ("vault_s3_access_avadm_copies", "vault_s3_secret_avadm_copies")
"""The owner's keys. Those of before, `vault_s3_*_avadm_etcd`, were on every member: under other names they are recreated."""
LIST = ["s3:ListBucket", "s3:ListBucketMultipartUploads"]
CHANGE = ["s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"]


def user(member: Node) -> str:
    """Return the user of a member."""
    return f"{ETCD_COPIES}-{member.name}"


def key_names(member: Node) -> tuple[str, str]:
    """Return the vault variables of a member's access key and secret key; two members' never have one name."""
    plain = member.name.replace("-", "_")
    return f"vault_s3_access_avadm_etcd_{plain}", f"vault_s3_secret_avadm_etcd_{plain}"


def keys(names: tuple[str, str]) -> dict[str, str]:
    """Return keys as the roles take them."""
    return {"access_key": f"{{{{ {names[0]} }}}}", "secret_key": f"{{{{ {names[1]} }}}}"}


def users(site: Site) -> dict[str, tuple[str, str]]:
    """Return user to the vault variables of its keys: the bucket's owner and one of each member."""
    if not own_copies(site):
        return {}
    return {ETCD_COPIES: OWNER_KEYS} | {user(n): key_names(n) for n in site.with_role("etcd")}


def of_member(site: Site, member: Node) -> dict[str, Any]:
    """Return the bucket of a member's copies and the keys to it; in a store that others run all have one pair."""
    if theirs := external_copies(site):
        return {"bucket": theirs.bucket, **keys((theirs.access_key, theirs.secret_key))}
    return {"bucket": ETCD_COPIES, **keys(key_names(member))}


def bucket(site: Site) -> dict[str, Any]:
    """Return the bucket as avadm_s3_bucket takes it."""
    return {"name": ETCD_COPIES, "versioning": False, "policy": policy(site), **keys(OWNER_KEYS)}


def policy(site: Site) -> dict[str, Any]:
    """Return what others than the owner may do in the bucket: all that it does not name is refused."""
    members = site.with_role("etcd")
    every, whole = [user(n) for n in members], f"arn:aws:s3:::{ETCD_COPIES}"
    return {
        "Version": "2012-10-17",
        "Statement": [
            allow(every, LIST, whole),
            # An object belongs to who wrote it, so its bucket's owner needs to be named too.
            allow([ETCD_COPIES, *every], ["s3:GetObject"], f"{whole}/*"),
            *(allow([user(n)], CHANGE, f"{whole}/{n.name}/*") for n in members),
        ],
    }


def allow(users: list[str], actions: list[str], resource: str) -> dict[str, Any]:
    """Return a statement of a policy."""
    return {
        "Effect": "Allow",
        "Principal": {"AWS": [f"arn:aws:iam:::user/{name}" for name in users]},
        "Action": actions,
        "Resource": [resource],
    }

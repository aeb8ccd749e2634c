"""Who may do what with PostgreSQL's backups in the site's own object store.

One bucket that keeps former versions, whose owner's keys are on no node. Each member has a user of its own, which writes, reads
and deletes. On a bucket with versions that only covers up what was there: no one but the owner removes a version, ends the
keeping of them or changes the policy. So a member that somebody else has taken over can neither destroy nor replace a backup
for as long as versions are kept; its abilities are described in docs/how-to/back-up-and-restore.md.
"""

from __future__ import annotations

from typing import Any

from avadm.components.etcd.bucket_policy import LIST, allow, keys
from avadm.components.objects.object_pools import DATABASE_BACKUPS, external_backups, own_backups
from avadm.site.model import Node, Site

OWNER_KEYS = ("vault_s3_access_avadm_database", "vault_s3_secret_avadm_database")
"""Vault variables of the bucket's owner."""
CHANGE = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"]
LEFT_DAYS = 2
"""Days after which the parts of an unfinished upload are removed."""


def user(member: Node) -> str:
    """Return the user of a member."""
    return f"{DATABASE_BACKUPS}-{member.name}"


def key_names(member: Node) -> tuple[str, str]:
    """Return the vault variables of a member's access key and secret key."""
    plain = member.name.replace("-", "_")
    return f"vault_s3_access_avadm_database_{plain}", f"vault_s3_secret_avadm_database_{plain}"


def users(site: Site) -> dict[str, tuple[str, str]]:
    """Return user to the vault variables of its keys: the bucket's owner and one of each member."""
    if not own_backups(site):
        return {}
    return {DATABASE_BACKUPS: OWNER_KEYS} | {user(n): key_names(n) for n in site.with_role("database")}


def of_member(site: Site, member: Node) -> dict[str, Any]:
    """Return the bucket and a member's keys to it; in a store that others run all have one pair."""
    if theirs := external_backups(site):
        return {"bucket": theirs.bucket, **keys((theirs.access_key, theirs.secret_key))}
    return {"bucket": DATABASE_BACKUPS, **keys(key_names(member))}


def bucket(site: Site) -> dict[str, Any]:
    """Return the bucket as avadm_s3_bucket takes it."""
    knobs = site.components.database
    days = knobs.backup.undelete_days if knobs and knobs.backup else 0
    members = [user(n) for n in site.with_role("database")]
    whole = f"arn:aws:s3:::{DATABASE_BACKUPS}"
    policy = {
        "Version": "2012-10-17",
        "Statement": [
            allow(members, LIST, whole),
            allow(members, CHANGE, f"{whole}/*"),
            # An object belongs to who wrote it, so its bucket's owner needs to be named too.
            allow([DATABASE_BACKUPS], ["s3:GetObject", "s3:GetObjectVersion"], f"{whole}/*"),
        ],
    }
    return {
        "name": DATABASE_BACKUPS,
        "versioning": True,
        "former_days": days,
        "unfinished_days": LEFT_DAYS,
        "policy": policy,
        **keys(OWNER_KEYS),
    }

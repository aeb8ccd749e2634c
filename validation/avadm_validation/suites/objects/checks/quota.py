"""A-S3-3: a user gets what the quota says and no more."""

from __future__ import annotations

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.suites.objects.store import S3Client

ID = "A-S3-3"
TITLE = ("object store: quotas hold", "对象存储:配额生效")
NEEDS = "own"
OBJECT = 1 << 20


def run(ctx: Context) -> Outcome:
    """Write through one gateway as a user with a quota until it is refused.

    Through one: each gateway counts by itself what passed through it, and learns of the others' only after a while
    (rgw_user_quota_bucket_sync_interval), so that with n gateways up to n times the quota may be written in a burst.
    """
    store = S3Client(ctx)
    node, url = next(iter(store.target.gateways.items()))
    ctx.step("write until the quota is reached")
    raw = {
        "doc": [
            store.ask(
                "quota",
                float(ctx.params["timeout_s"]),
                keys=list(store.target.limited),
                gateway=url,
                quota_bytes=store.target.quota_bytes,
                object_bytes=OBJECT,
            )
        ]
    }
    used = ctx.sample("s3_quota_used", raw)
    return Outcome(
        method=f"boto3 on {ctx.target.clients[0]} writes objects of {OBJECT} bytes through the gateway on {node} alone as a user "
        f"with a quota of {store.target.quota_bytes} bytes, up to three times that",
        metrics=[
            metric(
                "refused",
                (
                    "a write was refused for the quota, what is there can be read (1 = yes)",
                    "超出配额的写入被拒绝",
                ),
                "bool",
                "client",
                [ctx.sample("s3_quota_refused", raw)],
            ),
            metric(
                "used",
                ("what was taken, in parts of the quota", "已写入量与配额之比"),
                "ratio",
                "client",
                [used],
            ),
            metric(
                "granted",
                ("the same: not refused before there is anything", "配额内可写入"),
                "ratio",
                "client",
                [used],
            ),
        ],
        remedy="`radosgw-admin user info --uid=avadm-accept-quota` shows the quota, `radosgw-admin user stats --sync-stats` what "
        "counts (while the suite runs: the user is the run's own).",
    )

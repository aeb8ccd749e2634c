"""A-S3-2: anyone who has not the right key is refused, and nothing is served without TLS."""

from __future__ import annotations

from typing import Any

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.suites.objects.store import S3Client

ID = "A-S3-2"
TITLE = ("object store: wrong keys and plain HTTP are refused", "对象存储:错误密钥与明文 HTTP 被拒绝")
NEEDS = ""


def run(ctx: Context) -> Outcome:
    """Read one object with the right key, and with none of it."""
    store = S3Client(ctx)
    ctx.step("wrong keys, another user, plain HTTP")
    more: dict[str, Any] = {"other": list(store.target.limited)} if store.target.limited else {}
    raw = {"doc": [store.ask("refusals", float(ctx.params["timeout_s"]), **more)]}
    return Outcome(
        method=f"boto3 on {ctx.target.clients[0]} reads an object with a wrong secret, an unknown key, no key, another user's "
        "key, and with the right one; a request to the same port without TLS",
        metrics=[
            metric(
                "refused",
                ("share of attempts that were refused (403)", "被拒绝的尝试比例"),
                "ratio",
                "client",
                [ctx.sample("s3_refused", raw)],
            ),
            metric(
                "admitted",
                ("the right key reads the object (1 = yes)", "正确密钥可读取"),
                "bool",
                "client",
                [ctx.sample("s3_admitted", raw)],
            ),
            metric(
                "plain",
                ("a request without TLS was served (1 = yes)", "明文请求被服务"),
                "bool",
                "client",
                [ctx.sample("s3_plain", raw)],
            ),
        ],
        remedy="`radosgw-admin user info --uid=USER` shows keys, `radosgw-admin policy --bucket=B` who may read; plain HTTP: "
        "rgw_frontends in ceph.conf on the rgw nodes.",
    )

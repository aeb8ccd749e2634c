"""Preconditions of the objects suite: the store answers every client, and nothing of an earlier run is there."""

from __future__ import annotations

from avadm_validation.measuring.context import Context, MeasureError, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.model import Verdict
from avadm_validation.suites.objects import users
from avadm_validation.suites.objects.store import S3Client

ID = "A-S3-PRE"
TITLE = ("preconditions: the object store answers", "前提条件:对象存储可用")
NEEDS = ""


def run(ctx: Context) -> Outcome:
    """Put the tool on the clients, remove what an earlier run left, ask the store from each."""
    ctx.step("make the suite's users, ask the object store from each client")
    try:
        users.make(ctx, float(ctx.params["sweep_s"]))
        store = S3Client(ctx)
        store.install()
        raw = store.all("hello", 60, {client: {} for client in ctx.target.clients})
    except MeasureError as error:
        problems = [str(error)]
    else:
        left = store.sweep(float(ctx.params["sweep_s"]))
        problems = [f"what an earlier run left could not be removed: {text}" for text in left]
    if problems:
        return Outcome(
            method="",
            verdict=Verdict.BLOCKED,
            reasons=problems,
            remedy="`avadm apply objects`; then `journalctl -u 'ceph-radosgw@*' -e` on the rgw nodes. A client without "
            "boto3: the package python3-boto3.",
        )
    sample = ctx.sample("s3_answered", {"clients": raw}, of=float(len(ctx.target.clients)))
    return Outcome(
        method=f"boto3 on {len(raw)} clients lists buckets at {store.target.endpoint}",
        metrics=[
            metric(
                "answers",
                ("share of clients that the store answers", "可访问的客户端比例"),
                "ratio",
                "client",
                [sample],
            )
        ],
    )

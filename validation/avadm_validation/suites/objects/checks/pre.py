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


REMEDY = (
    "`avadm apply objects`; then `journalctl -u 'ceph-radosgw@*' -e` on the rgw nodes. A client without boto3: the package "
    "python3-boto3."
)


def run(ctx: Context) -> Outcome:
    """Put the tool on the clients, ask the store from each, remove what an earlier run left."""
    ctx.step("make the suite's users, ask the object store from each client")
    clients = ctx.target.clients
    try:
        users.make(ctx, float(ctx.params["sweep_s"]))
        store = S3Client(ctx)
        store.install()
    except MeasureError as error:
        return Outcome(method="", verdict=Verdict.BLOCKED, reasons=[str(error)], remedy=REMEDY)
    raw, problems = [], []
    for result in store.tried("hello", 60, {client: {} for client in clients}):
        try:
            raw.append(ctx.rec.last(ctx.must(result).node))
        except MeasureError as error:
            problems.append(str(error))
    if not problems:
        left = store.sweep(float(ctx.params["sweep_s"]))
        problems = [f"what an earlier run left could not be removed: {text}" for text in left]
    sample = ctx.sample("s3_answered", {"clients": raw}, of=float(len(clients)))
    return Outcome(
        method=f"boto3 on {len(clients)} clients lists buckets at {store.target.endpoint}",
        verdict=Verdict.BLOCKED if problems else None,
        reasons=problems,
        remedy=REMEDY,
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

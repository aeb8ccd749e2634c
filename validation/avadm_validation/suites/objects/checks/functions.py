"""A-S3-1: objects are read as they were written, listed, removed; parts and former versions."""

from __future__ import annotations

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.suites.objects.store import S3Client

ID = "A-S3-1"
TITLE = (
    "object store: write, read, list, remove, parts, versions",
    "对象存储:读写、列举、删除、分段、多版本",
)
NEEDS = ""


def run(ctx: Context) -> Outcome:
    """Let one client do it all, with a checksum of each object."""
    store, p = S3Client(ctx), ctx.params
    ctx.step("objects of several sizes, in parts, with versions")
    keys = ("sizes", "each", "page", "multipart_bytes")
    raw = {"doc": [store.ask("functions", float(p["timeout_s"]), **{k: p[k] for k in keys})]}
    return Outcome(
        method=f"boto3 on {ctx.target.clients[0]}: {p['each']} objects each of {', '.join(map(str, p['sizes']))} bytes under "
        f"keys with blanks and signs, compared by sha256; listed {p['page']} at a time; one object of {p['multipart_bytes']} "
        "bytes in parts of 5 MiB; an object written twice with versioning on and removed",
        metrics=[
            metric(
                "wrong",
                ("objects not read as they were written", "读出内容不符的对象"),
                "objects",
                "client",
                [ctx.sample("s3_wrong", raw)],
            ),
            metric(
                "listed",
                ("keys that a listing lacks or has too many", "列举中缺失或多余的键"),
                "keys",
                "client",
                [ctx.sample("s3_listed", raw)],
            ),
            metric(
                "left",
                ("removed objects that are still there", "删除后仍存在的对象"),
                "objects",
                "client",
                [ctx.sample("s3_left", raw)],
            ),
            metric(
                "multipart",
                ("an object in parts is whole (1 = yes)", "分段上传完整"),
                "bool",
                "client",
                [ctx.sample("s3_multipart", raw, bytes=12e6)],
            ),
            metric(
                "versions",
                ("what holds of former versions, of 4", "多版本行为符合项(共 4 项)"),
                "things",
                "client",
                [ctx.sample("s3_versions", raw)],
            ),
        ],
        remedy="The raw file names each object; `radosgw-admin object stat --bucket=B --object=K` shows what ceph has of it.",
    )

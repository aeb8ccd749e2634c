"""Objects written by S3 behind the cache's back, with the bytes that its reader expects of a file."""

from __future__ import annotations

from avadm_validation.measuring.context import Context
from avadm_validation.measuring.targets import Bucket
from avadm_validation.suites.objects.store import S3Client

LEFT = "avadm-accept-"
"""How every run's folders begin: one run at a time has the site, so that others' are what a killed one left."""


def writer(ctx: Context) -> str:
    """Return the node that writes: a client of the object store, "" where there is none."""
    return ctx.target.clients[0] if ctx.target.objects and ctx.target.clients else ""


def put(ctx: Context, bucket: Bucket, folder: str, size: int, version: int, seed: str) -> None:
    """Write the first file of a folder of the mounted part, in one request; MeasureError where that fails.

    The reader's tool is on the node already: it makes the bytes.
    """
    store, node = S3Client(ctx), writer(ctx)
    store.install([node])
    job = {"name": "f000000", "size": size, "version": version, "seed": seed}
    store.ask("put", float(ctx.params["timeout_s"]), node, **_place(bucket, folder), **job)


def clear(ctx: Context, bucket: Bucket) -> list[str]:
    """Remove the folders of all runs of the mounted part; return what is to be reported where that fails. Nothing is raised."""
    store, node = S3Client(ctx), writer(ctx)
    place = _place(bucket, "") | {"prefix": f"{bucket.prefix}{LEFT}"}
    done = ctx.rec.fleet.run(node, store.line("clear"), timeout=600, stdin=store.job(**place))
    failed = done.rc or done.error
    return [f"{node}: objects of the bucket {bucket.name} below {LEFT} may have stayed"] if failed else []


def _place(bucket: Bucket, folder: str) -> dict[str, object]:
    return {"keys": list(bucket.keys), "bucket": bucket.name, "prefix": f"{bucket.prefix}{folder}/"}

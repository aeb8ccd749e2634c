"""A-S3-4: how fast objects are written and read by all clients together."""

from __future__ import annotations

import json
from typing import Any

from avadm_validation.measuring.context import Context, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.model import Metric, Sample
from avadm_validation.suites.objects.store import S3Client

ID = "A-S3-4"
TITLE = ("object store: throughput", "对象存储:吞吐量")
NEEDS = ""
KINDS = {
    "put": ("writing, all clients together", "写入总吞吐量"),
    "get": ("reading, all clients together", "读取总吞吐量"),
}


def run(ctx: Context) -> Outcome:
    """Let all clients write in windows, then read what they wrote; the first window of each warms up and does not count."""
    store, p = S3Client(ctx), ctx.params
    names = ctx.target.clients
    store.ask("refusals", float(p["timeout_s"]))  # makes the bucket, so that no window does
    raws: dict[str, list[list[str]]] = {}
    counts: dict[str, list[int]] = {}
    for op in KINDS:
        repetitions = int(p["repetitions"])
        ctx.step(op, repetitions, repetitions * float(p["duration_s"]))
        raws[op] = []
        for i in range(repetitions + 1):
            seconds = float(p["warmup_s"] if i == 0 else p["duration_s"])
            jobs: dict[str, dict[str, Any]] = {
                name: {
                    "op": op,
                    "size": p["size"],
                    "threads": p["threads"],
                    "seconds": seconds,
                    # Windows of one client overwrite each other's objects: what is read is of the longest, the last.
                    "client": name,
                    "counts": counts.get(name),
                }
                for name in names
            }
            found = store.all("load", seconds + float(p["timeout_s"]), jobs)
            if op == "put" and i:
                for name, path in zip(names, found, strict=True):
                    made = [int(n) for n in json.loads(ctx.read(path))["counts"]]
                    counts[name] = [max(a, b) for a, b in zip(counts.get(name, made), made, strict=True)]
            if i:
                raws[op].append(found)
    every = {"clients": [path for windows in raws.values() for paths in windows for path in paths]}
    return Outcome(
        method=f"boto3 on {len(names)} clients with {p['threads']} threads each, objects of {p['size']} bytes, "
        f"{p['repetitions']} windows of {p['duration_s']} s after {p['warmup_s']} s of warm-up, at {store.target.endpoint}; "
        "reads compare sha256",
        metrics=[
            *(_rates(ctx, op, raws[op]) for op in KINDS),
            metric(
                "errors",
                ("operations that failed", "失败的操作"),
                "operations",
                "aggregate",
                [ctx.sample("s3_errors", every)],
            ),
            metric(
                "wrong",
                ("objects read with another content", "内容不符的读取"),
                "objects",
                "aggregate",
                [ctx.sample("s3_read_wrong", every)],
            ),
        ],
        remedy="`ceph osd perf` and the load of rgw nodes; boto3 itself takes a core for some 100 MB/s.",
    )


def _rates(ctx: Context, op: str, windows: list[list[str]]) -> Metric:
    samples: list[Sample] = [
        ctx.sample("s3_rate", {"clients": paths}, repetition=float(i)) for i, paths in enumerate(windows)
    ]
    return metric(op, KINDS[op], "B/s", "aggregate", samples)

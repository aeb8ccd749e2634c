"""A-S3-5: one gateway is stopped under load, and comes back."""

from __future__ import annotations

import shlex
import threading
import time

from avadm_validation.measuring.context import Context, MeasureError, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.suites.objects.store import S3Client

ID = "A-S3-5"
TITLE = ("object store: a gateway is lost under load", "对象存储:负载下失去一个网关")
NEEDS = "gateways"
MARGIN_S = 30
"""Seconds after which the gateway starts again by itself, should no one be left to start it."""


def run(ctx: Context) -> Outcome:
    """Write and read from all clients; in the middle third a gateway is stopped."""
    store, p = S3Client(ctx), ctx.params
    node = next(iter(store.target.gateways))
    unit = shlex.quote(f"ceph-radosgw@rgw.{node}")
    seconds = float(p["duration_s"])
    store.ask("refusals", float(p["timeout_s"]))  # makes the bucket
    ctx.step(f"stop the gateway on {node} under load", seconds=seconds)
    raw: list[str] = []
    failed: list[MeasureError] = []

    def work() -> None:
        shared = {"op": "mixed", "size": p["size"], "threads": p["threads"], "seconds": seconds}
        jobs = {name: {**shared, "client": name, "read_timeout_s": 15} for name in ctx.target.clients}
        try:
            raw.extend(store.all("load", seconds + float(p["timeout_s"]), jobs))
        except MeasureError as error:
            failed.append(error)

    state = f"systemctl is-active {unit} || true"
    again = f"systemd-run --quiet --on-active={int(seconds) + MARGIN_S} systemctl start {unit}"
    thread = threading.Thread(target=work)
    thread.start()
    try:
        time.sleep(seconds / 3)
        ctx.must(ctx.rec.fleet.run(node, f"{again} && systemctl stop {unit}", timeout=60))
        time.sleep(seconds / 3)
        during = ctx.rec.fleet.run(node, state)
    finally:
        back = ctx.rec.fleet.run(node, f"systemctl start {unit}; sleep 2; {state}", timeout=60)
        thread.join()
    if failed:
        raise failed[0]
    states = [ctx.rec.save(f"{n}-{node}.state", r.stdout) for n, r in (("during", during), ("after", back))]
    inputs = {"clients": raw}
    return Outcome(
        method=f"boto3 on {len(ctx.target.clients)} clients with {p['threads']} threads each writes and reads back objects of "
        f"{p['size']} bytes for {seconds:g} s; the gateway on {node} is stopped for the middle third",
        metrics=[
            metric(
                "errors",
                ("operations that failed for good, after the library's own retries", "最终失败的操作"),
                "operations",
                "aggregate",
                [ctx.sample("s3_errors", inputs)],
            ),
            metric(
                "pause",
                ("longest time without a completed operation", "最长停顿"),
                "s",
                "client",
                [ctx.sample("s3_pause", inputs)],
            ),
            metric(
                "wrong",
                ("objects read with another content", "内容不符的读取"),
                "objects",
                "aggregate",
                [ctx.sample("s3_read_wrong", inputs)],
            ),
            metric(
                "stopped",
                ("the gateway was stopped, and came back (1 = yes)", "网关确已停止并恢复"),
                "bool",
                "cluster",
                [ctx.sample("s3_states", {"states": states}, before="inactive", after="active")],
            ),
        ],
        remedy="haproxy on the rgw nodes says which gateway it holds for lost (journalctl -u haproxy); `ip -4 addr` which node "
        "holds the address.",
    )

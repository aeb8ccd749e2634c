"""What must hold before anything is measured (acceptance.md 2.3.2); what does not blocks every other check."""

from __future__ import annotations

import json
import shlex
import time
from typing import Any

from avadm_validation.measuring.context import Context, MeasureError, Outcome
from avadm_validation.measuring.extract import document
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.model import Metric
from avadm_validation.suites.storage.extract.cluster import busy_pgs, healthy
from avadm_validation.suites.storage.space import save, words

ID = "preconditions"
TITLE = (
    "Preconditions: healthy, quiet, equal versions, clocks, space",
    "前提条件:健康、空闲、版本一致、时钟、空间",
)
NEEDS = ""


def run(ctx: Context) -> Outcome:
    """Read health, placement groups, versions, clocks, mounts, tools, space and network; change nothing."""
    t = ctx.target
    ctx.step("health, versions, clocks, space")
    status = _quiet(ctx)
    ctx.ceph("ceph versions --format json", "versions")
    versions = ctx.rec.last(t.mon)
    ctx.ceph("ceph df --format json", "df")
    space = ctx.rec.last(t.mon)
    free = min((p["stats"]["max_avail"] for p in document(ctx.read(space)).get("pools", [])), default=0)
    ctx.shared["free"], writes = float(free), save(ctx)
    facts = _clients(ctx)
    metrics = [
        _one(
            "health",
            ("ceph's health is HEALTH_OK, held off scrubs aside (1 = yes)", "集群健康"),
            "bool",
            [ctx.sample("healthy", {"doc": [status]})],
        ),
        _one(
            "busy-pgs",
            ("placement groups that are not active+clean", "非 active+clean 的 PG 数"),
            "pgs",
            [ctx.sample("busy_pgs", {"doc": [status]})],
        ),
        _one(
            "osds-down",
            ("OSDs that are not up and in", "未 up/in 的 OSD 数"),
            "OSDs",
            [ctx.sample("osds_down", {"doc": [status]})],
        ),
        _one(
            "versions",
            ("different ceph versions, clients included", "ceph 版本数(含客户端)"),
            "versions",
            [ctx.sample("versions", {"doc": [versions], "clients": facts})],
        ),
        _one("skew", ("largest clock difference that is certain", "时钟偏差"), "ms", [_clocks(ctx)]),
        _one(
            "space",
            ("free space over what the suite writes", "可用空间与所需之比"),
            "ratio",
            [ctx.sample("least_avail", {"doc": [space], "writes": [writes]})],
        ),
        _one(
            "tools",
            ("clients that have fio, ceph's bindings and the mount (share)", "客户端就绪比例"),
            "ratio",
            [ctx.sample("ready", {"clients": facts}, mount=t.mount or "", pool=t.pool or "")],
        ),
        *_network(ctx),
    ]
    return Outcome(
        method="ceph status, versions and df on a mon node; date on every node against the controller's clock, half of the "
        "round trip taken off; on each client: ceph's version, the mount's type, fio and python bindings",
        metrics=metrics,
        reasons=[] if free >= 2 * sum(ctx.params["writes"].values()) else [words(free, ctx.params["writes"])],
        remedy="Bring the cluster to HEALTH_OK (ceph health detail), let recovery and scrubs end, make versions equal and "
        "space free; then run again.",
    )


def _one(name: str, titles: tuple[str, str], unit: str, samples: list[Any]) -> Metric:
    return metric(name, titles, unit, "cluster", samples)


def _quiet(ctx: Context) -> str:
    """Return the path of a status; wait a while for what ends by itself (peering, a scrub that runs)."""
    end = time.monotonic() + float(ctx.params["settle_s"])
    while True:
        inputs = {"doc": [ctx.ceph("ceph status --format json", "status").stdout]}
        still = healthy(inputs, {}) == 1 and busy_pgs(inputs, {}) == 0
        if still or time.monotonic() > end:
            return ctx.rec.last(ctx.target.mon)
        ctx.step("wait for a healthy, quiet cluster")
        time.sleep(2)


def _clients(ctx: Context) -> list[str]:
    """Return one JSON per client: version, mount's type, whether the tools are there."""
    mount = ctx.target.mount or "/nonexistent"
    script = (
        "import json, subprocess, sys\n"
        "def out(*a):\n"
        "    try:\n"
        "        return subprocess.check_output(a, stderr=subprocess.STDOUT).decode().strip()\n"
        "    except Exception:\n"
        "        return ''\n"
        "try:\n"
        "    import rbd, rados\n"
        "    bindings = True\n"
        "except ImportError:\n"
        "    bindings = False\n"
        f"mount = {mount!r}\n"
        "kinds = [l.split()[2] for l in open('/proc/mounts') if l.split()[1] == mount]\n"
        "print(json.dumps({'version': out('ceph', '--version'), 'fio': out('fio', '--version'), 'bindings': bindings,\n"
        "                  'mount': kinds[-1] if kinds else '', 'cores': out('nproc'), 'kernel': out('uname', '-r'),\n"
        "                  'memory_kib': [l.split()[1] for l in open('/proc/meminfo')][0]}))\n"
    )
    command = f"{ctx.target.ceph_python} -c {shlex.quote(script)}"
    return ctx.everywhere(dict.fromkeys(ctx.target.clients, command), "facts", timeout=60)


def _clocks(ctx: Context) -> Any:
    """Return the largest clock difference between two nodes that the round trips leave certain, milliseconds."""
    results = ctx.rec.map(dict.fromkeys(ctx.target.nodes, "date +%s.%N"), "clock", timeout=30)
    readings = {}
    for node, r in results.items():
        if r.rc or r.error:
            raise MeasureError(f"{node} did not tell its time: {r.error or r.stderr.strip()}")
        readings[node] = {
            "low": float(r.stdout) - (r.started + r.seconds),
            "high": float(r.stdout) - r.started,
        }
    path = ctx.rec.save("clocks.json", json.dumps(readings, indent=1))
    return ctx.sample("skew", {"doc": [path]})


def _network(ctx: Context) -> list[Metric]:
    """Return the baseline between two clients by iperf3, where it is installed; it only informs."""
    clients, seconds = ctx.target.clients, float(ctx.params["iperf_s"])
    if len(clients) < 2 or not seconds:
        return []
    server, client = clients[0], clients[1]
    if any(
        r.rc
        for r in ctx.rec.map(dict.fromkeys((server, client), "command -v iperf3"), "iperf3-there").values()
    ):
        return []
    ctx.step("network baseline", 1, seconds)
    # -1: the server ends after one client; time-out: also when that never comes.
    start = f"(timeout {seconds + 20:g} iperf3 -s -1 -p 5269 >/dev/null 2>&1 &) ; sleep 0.5; hostname -I"
    address = ctx.must(ctx.rec.run(server, start, "iperf3-server")).stdout.split()[0]
    result = ctx.rec.run(
        client, f"iperf3 -J -c {address} -p 5269 -t {seconds:g}", "iperf3", timeout=seconds + 30
    )
    if result.rc:
        return []
    path = "end.sum_received.bits_per_second"
    sample = ctx.sample("number", {"doc": [ctx.rec.last(client)]}, path=path)
    title = (f"network baseline {client} to {server} (iperf3, one stream)", "网络基线")
    return [metric("network", title, "bit/s", "client", [sample])]

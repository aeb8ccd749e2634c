"""A-BD5: several clients read one image at once, read-only; nobody can write through such a handle."""

from __future__ import annotations

import shlex

from avadm_validation.protocol.model import Series
from avadm_validation.protocol.stats import mean
from avadm_validation.suites.storage.context import Context, MeasureError, Outcome
from avadm_validation.suites.storage.measure import metric
from avadm_validation.suites.storage.rbd import fio_line, rbd, remove

ID = "A-BD5"
TITLE = ("rbd: several clients read one image at once", "rbd:多客户端同时只读挂载同一镜像")
NEEDS = "rbd"


def run(ctx: Context) -> Outcome:
    """Fill an image, take a protected snapshot, read it from C = 1, 2, … clients, try to write."""
    clients, p = ctx.target.clients, ctx.params
    if len(clients) < 2:
        raise MeasureError("reading at once needs at least two nodes with the role client")
    image = f"{ctx.name}-shared"
    steps = [c for c in (1, 2, 3, 4, 8, 16, 32, 64) if c <= len(clients)]
    n = int(p["repetitions"])
    found: dict[str, list[list[str]]] = {}
    ctx.step("make and fill the image")
    try:
        rbd(ctx, f"create --size {p['image_size']} {image}", "create")
        fill = (
            "--rw=write",
            "--bs=4M",
            "--iodepth=16",
            f"--rbdname={image}",
            "--name=fill",
            "--buffer_pattern=0xad",
        )
        ctx.everywhere({clients[0]: fio_line(ctx, *fill)}, "fill", timeout=7200)
        rbd(ctx, f"snap create {image}@read", "snap-create")
        rbd(ctx, f"snap protect {image}@read", "snap-protect")
        for c in steps:
            found[str(c)] = []
            for i in range(n):
                ctx.step(f"read with {c} client(s), repetition {i + 1} of {n}", 1, float(p["duration_s"]))
                found[str(c)].append(_read(ctx, clients[:c], image))
        attempts = _write(ctx, image)
    finally:
        remove(ctx, image)
    ratios = [
        ctx.sample("scaling", {str(c): found[str(c)][i] for c in steps}, seconds=float(p["duration_s"]))
        for i in range(n)
    ]
    last = found[str(steps[-1])]
    every = [path for group in found.values() for paths in group for path in paths]
    rates = {
        c: [ctx.sample("rate", {"clients": paths}, seconds=float(p["duration_s"])) for paths in found[str(c)]]
        for c in steps
    }
    return Outcome(
        method=f"librbd (python bindings), one protected snapshot of {p['image_size']} opened read-only; C = "
        f"{', '.join(map(str, steps))} clients × {p['iodepth']} requests of {int(p['block']) >> 10} KiB at random, "
        f"{n} windows of {p['duration_s']} s; every block's content is compared; then write, discard and resize are tried",
        metrics=[
            metric("scaling", ("aggregate(C) / best of fewer", "总吞吐比"), "ratio", "aggregate", ratios),
            metric(
                "share",
                ("slowest client / mean of clients", "最慢客户端占均值"),
                "ratio",
                "client",
                [
                    ctx.sample("least_share", {"clients": paths}, seconds=float(p["duration_s"]))
                    for paths in last
                ],
            ),
            metric(
                "refused",
                ("write, discard and resize refused everywhere (1 = yes)", "写入均被拒绝"),
                "bool",
                "client",
                [
                    ctx.sample("equals", {"doc": attempts}, path=f"write.{act}", value="EROFS")
                    for act in ("write", "discard", "resize")
                ],
            ),
            metric(
                "bad",
                ("blocks with wrong content or failed reads", "内容错误的块"),
                "blocks",
                "aggregate",
                [ctx.sample("errors", {"clients": every})],
            ),
            metric(
                "read",
                (f"bandwidth with {steps[-1]} clients", "总带宽"),
                "B/s",
                "aggregate",
                rates[steps[-1]],
            ),
        ],
        series=[
            Series(
                name="read",
                group="reading one image by clients",
                kind="scaling",
                x_label="clients",
                x_unit="count",
                y_label="bandwidth",
                y_unit="MB/s",
                points=[(c, mean([s.value for s in rates[c]]) / 1e6) for c in steps],
            )
        ],
        remedy="Refused must be EROFS on every client: look at the image's features and at the users' caps.",
    )


def _read(ctx: Context, clients: tuple[str, ...], image: str) -> list[str]:
    p, gate = ctx.params, ctx.gate()
    warm = float(p["warmup_s"])
    commands = {
        c: ctx.tool(
            "rbdread.py",
            "--user",
            ctx.target.rbd_user,
            "--pool",
            str(ctx.target.pool),
            "--image",
            image,
            "--snap",
            "read",
            "--client",
            c,
            "--start",
            f"{gate:.3f}",
            "--duration",
            warm + float(p["duration_s"]),
            "--warmup",
            warm,
            "--block",
            int(p["block"]),
            "--depth",
            int(p["iodepth"]),
            "--seed",
            ctx.seed,
            "--pattern",
            "ad",
        )
        for c in clients
    }
    return ctx.everywhere(commands, "read", timeout=float(p["duration_s"]) + 120)


def _write(ctx: Context, image: str) -> list[str]:
    ctx.step("try to write")
    command = ctx.tool(
        "rbdread.py",
        "--user",
        ctx.target.rbd_user,
        "--pool",
        str(ctx.target.pool),
        "--image",
        image,
        "--snap",
        "read",
        "--duration",
        0,
        "--try-write",
    )
    return ctx.everywhere(
        {c: command + f" --client {shlex.quote(c)}" for c in ctx.target.clients}, "try-write", timeout=60
    )

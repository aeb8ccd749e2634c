"""A-BD5: several clients read one image at once, read-only; nobody can write through such a handle."""

from __future__ import annotations

from avadm_validation.protocol.model import Series
from avadm_validation.protocol.stats import mean
from avadm_validation.suites.storage.context import Context, MeasureError, Outcome
from avadm_validation.suites.storage.measure import metric, samples
from avadm_validation.suites.storage.rbd import fio_line, rbd, remove

ID = "A-BD5"
TITLE = ("rbd: several clients read one image at once", "rbd:多客户端同时只读挂载同一镜像")
NEEDS = "rbd"
PATTERN = "ad"  # byte that fills the image, in hex


def run(ctx: Context) -> Outcome:
    """Fill an image, take a protected snapshot, read it from C = 1, 2, … clients, try to write."""
    clients, p = ctx.target.clients, ctx.params
    if len(clients) < 2:
        raise MeasureError("reading at once needs at least two nodes with the role client")
    image = f"{ctx.name}-shared"
    steps = [c for c in (1, 2, 3, 4, 8, 16, 32, 64) if c <= len(clients)]
    n = int(p["repetitions"])
    found: dict[str, list[str]] = {}
    ctx.step("make and fill the image")
    try:
        rbd(ctx, f"create --size {p['image_size']} {image}", "create")
        fill = (
            "--rw=write",
            "--bs=4M",
            "--iodepth=16",
            f"--rbdname={image}",
            "--name=fill",
            f"--buffer_pattern=0x{PATTERN}",
        )
        ctx.everywhere({clients[0]: fio_line(ctx, *fill)}, "fill", timeout=7200)
        rbd(ctx, f"snap create {image}@read", "snap-create")
        rbd(ctx, f"snap protect {image}@read", "snap-protect")
        for c in steps:
            found[str(c)] = _read(ctx, clients[:c], image)
        attempts = _write(ctx, image)
    finally:
        remove(ctx, image)
    last, every = found[str(steps[-1])], [path for paths in found.values() for path in paths]
    rates = {c: samples(ctx, "rate", found[str(c)]) for c in steps}
    ratios = [ctx.sample("scaling", found, repetition=float(i)) for i in range(n)]
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
                samples(ctx, "least_share", last),
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
    """Read the snapshot from some clients at once; return their raw files."""
    p, gate = ctx.params, ctx.gate()
    gap = float(p.get("gap_s", 0.3))
    seconds = int(p["repetitions"]) * (float(p["warmup_s"]) + float(p["duration_s"]) + gap)
    commands = {
        c: ctx.image_tool(
            "rbdread.py",
            image=image,
            snap="read",
            client=c,
            start=f"{gate:.3f}",
            warmup=float(p["warmup_s"]),
            duration=float(p["duration_s"]),
            repeat=int(p["repetitions"]),
            gap=gap,
            block=int(p["block"]),
            depth=int(p["iodepth"]),
            seed=ctx.seed,
            pattern=PATTERN,
        )
        for c in clients
    }
    ctx.step(f"read with {len(clients)} client(s)", int(p["repetitions"]), seconds)
    return ctx.everywhere(commands, "read", timeout=seconds + 120)


def _write(ctx: Context, image: str) -> list[str]:
    """Try to write through a read-only handle on every client; return their raw files."""
    ctx.step("try to write")
    command = ctx.image_tool("rbdread.py", "--try-write", image=image, snap="read", duration=0)
    return ctx.everywhere(dict.fromkeys(ctx.target.clients, command), "try-write", timeout=60)

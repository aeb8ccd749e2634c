"""A-BD5: several clients read one image at once, read-only; no one can write through such a handle."""

from __future__ import annotations

from avadm_validation.measuring.context import Context, MeasureError, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.suites.storage.measure import samples
from avadm_validation.suites.storage.rbd import rbd, remove
from avadm_validation.suites.storage.scaling import scaling, share, steps, throughput
from avadm_validation.suites.storage.space import fill_limit, size_of
from avadm_validation.suites.storage.tools import image_tool

ID = "A-BD5"
TITLE = ("rbd: several clients read one image at once", "rbd:多客户端同时只读挂载同一镜像")
NEEDS = "rbd"


def run(ctx: Context) -> Outcome:
    """Fill an image, take a protected snapshot, read it from C = 1, 2, … clients, try to write."""
    clients, p = ctx.target.clients, ctx.params
    if len(clients) < 2:
        raise MeasureError("reading at once needs at least two nodes with the role client")
    image = f"{ctx.name}-shared"
    at_once = steps(clients)
    n = int(p["repetitions"])
    found: dict[str, list[str]] = {}
    ctx.step("make and fill the image")
    try:
        rbd(ctx, f"create --size {p['image_size']} {image}", "create")
        fill = image_tool(ctx, "rbdread.py", "--fill", image=image, block=int(p["block"]), depth=16)
        limit = fill_limit(size_of(str(p["image_size"])))
        ctx.everywhere({clients[0]: fill}, "fill", timeout=limit)
        rbd(ctx, f"snap create {image}@read", "snap-create")
        rbd(ctx, f"snap protect {image}@read", "snap-protect")
        for c in at_once:
            found[str(c)] = _read(ctx, clients[:c], image)
        attempts = _write(ctx, image)
    finally:
        remove(ctx, image)
    every = [path for paths in found.values() for path in paths]
    return Outcome(
        method=f"librbd (python bindings), one protected snapshot of {p['image_size']} opened read-only; C = "
        f"{', '.join(map(str, at_once))} clients × {p['iodepth']} requests of {int(p['block']) >> 10} KiB at random, "
        f"{n} windows of {p['duration_s']} s; every block is compared whole with its "
        "place in the image; then write, discard and resize are tried",
        metrics=[
            metric(
                "scaling",
                ("least aggregate(C) / best of fewer", "总吞吐比"),
                "ratio",
                "aggregate",
                scaling(ctx, found, n),
            ),
            metric(
                "share",
                ("slowest client / mean of clients, least of any C", "最慢客户端占均值"),
                "ratio",
                "client",
                share(ctx, found, n),
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
                (f"bandwidth with {at_once[-1]} clients", "总带宽"),
                "B/s",
                "aggregate",
                samples(ctx, "rate", found[str(at_once[-1])]),
            ),
        ],
        series=[throughput(ctx, "read", "reading one image by clients", "MB/s", found, 1e-6)],
        remedy="Refused must be EROFS on every client: look at the image's features and at the users' caps.",
    )


def _read(ctx: Context, clients: tuple[str, ...], image: str) -> list[str]:
    """Read the snapshot from some clients at once; return their raw files."""
    p, gate = ctx.params, ctx.gate()
    gap = float(p.get("gap_s", 0.3))
    seconds = int(p["repetitions"]) * (float(p["warmup_s"]) + float(p["duration_s"]) + gap)
    commands = {
        c: image_tool(
            ctx,
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
        )
        for c in clients
    }
    ctx.step(f"read with {len(clients)} client(s)", int(p["repetitions"]), seconds)
    return ctx.everywhere(commands, "read", timeout=seconds + 120)


def _write(ctx: Context, image: str) -> list[str]:
    """Try to write through a read-only handle on every client; return their raw files."""
    ctx.step("try to write")
    command = image_tool(ctx, "rbdread.py", "--try-write", image=image, snap="read", duration=0)
    return ctx.everywhere(dict.fromkeys(ctx.target.clients, command), "try-write", timeout=60)

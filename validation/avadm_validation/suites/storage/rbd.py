"""Block images for the checks: made with the run's own names, filled, measured with fio, removed."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from avadm_validation.measuring.context import Context
from avadm_validation.protocol.fleet import Result
from avadm_validation.protocol.model import Sample, Series
from avadm_validation.suites.storage.space import bench_clients, fill_limit, size_of


def rbd(ctx: Context, command: str, name: str, *, node: str | None = None, timeout: float = 300) -> Result:
    """Run ``rbd COMMAND`` as the clients' user on a client; MeasureError where it fails."""
    line = f"rbd --id {shlex.quote(ctx.target.rbd_user)} -p {shlex.quote(str(ctx.target.pool))} {command}"
    return ctx.must(ctx.rec.run(node or ctx.target.clients[0], line, name, timeout=timeout))


def remove(ctx: Context, image: str) -> None:
    """Remove an image with its snapshots; an image that is not there is no error."""
    base = f"rbd --id {shlex.quote(ctx.target.rbd_user)} -p {shlex.quote(str(ctx.target.pool))}"
    quoted = shlex.quote(image)
    line = (
        f"{base} snap unprotect {quoted}@read; {base} snap purge {quoted}; {base} rm --no-progress {quoted}"
    )
    ctx.rec.run(ctx.target.clients[0], f"({line}) 2>&1 || true", "rm", timeout=3600)


def fio_line(ctx: Context, *options: str) -> str:
    """Return the start of a fio command line for images of the pool.

    librbd's write-back cache is off: it would acknowledge writes that no OSD has seen.
    """
    fixed = [
        "fio",
        "--ioengine=rbd",
        f"--clientname={ctx.target.rbd_user}",
        f"--pool={ctx.target.pool}",
        "--output-format=json",
        "--group_reporting=0",
        "--randrepeat=1",
        f"--randseed={ctx.seed}",
    ]
    return "CEPH_ARGS=--rbd_cache=false " + " ".join(map(shlex.quote, [*fixed, *options]))


def bench_images(ctx: Context) -> dict[str, list[str]]:
    """Return each client's images, made and written once over (preconditioned) the first time in a run."""
    if "images" in ctx.shared:
        return dict(ctx.shared["images"])
    p = ctx.params
    images = {
        c: [f"{ctx.name}-bench-{c}-{i}" for i in range(int(p["images_per_client"]))]
        for c in bench_clients(ctx.target, p)
    }
    ctx.step("make and fill images")
    for names in images.values():
        for image in names:
            rbd(ctx, f"create --size {p['image_size']} {shlex.quote(image)}", "create")
    common = ("--rw=write", "--bs=4M", "--iodepth=16")
    fill = {
        c: f"{ctx.noted} "
        + fio_line(ctx, *common, *(o for image in names for o in ("--name=fill", f"--rbdname={image}")))
        for c, names in images.items()
    }
    total = sum(map(len, images.values())) * size_of(str(p["image_size"]))
    ctx.everywhere(fill, "fill", timeout=fill_limit(total))
    ctx.shared["images"] = images
    return images


def fio_windows(
    ctx: Context, modes: Sequence[tuple[str, str]], block: str, depth: int
) -> dict[str, list[list[str]]]:
    """Measure windows of several modes from all clients at once.

    Each window is a fio of its own on each client, started at a common gate: were they jobs of one fio, each would
    open the image again and take the exclusive lock from the one before.

    Args:
        ctx: the check.
        modes: (name, fio's --rw).
        block: fio's --bs.
        depth: fio's --iodepth, per image.

    Returns:
        By mode, for each repetition the clients' raw files.
    """
    p, images = ctx.params, bench_images(ctx)
    warm, long, n = float(p["warmup_s"]), float(p["duration_s"]), int(p["repetitions"])
    common = [f"--bs={block}", f"--iodepth={depth}", "--time_based", f"--ramp_time={warm * 1000:.0f}ms"]
    common.append(f"--runtime={long * 1000:.0f}ms")
    found: dict[str, list[list[str]]] = {}
    for mode, rw in modes:
        ctx.step(f"fio {block} {mode}", n, n * (warm + long + float(p["lead_s"])))
        found[mode] = []
        for _ in range(n):
            wait = f"import time; time.sleep(max(0, {ctx.gate():.3f} - time.time()))"
            commands = {
                client: f"{ctx.noted} {ctx.target.python} -c {shlex.quote(wait)} && "
                + fio_line(
                    ctx,
                    f"--rw={rw}",
                    *common,
                    *(o for i in names for o in (f"--name={mode}", f"--rbdname={i}")),
                )
                for client, names in images.items()
            }
            found[mode].append(ctx.everywhere(commands, f"fio-{mode}", timeout=warm + long + 300))
    return found


def fio_samples(ctx: Context, found: Mapping[str, list[list[str]]], mode: str, field: str) -> list[Sample]:
    """Make one sample of each repetition of a mode: the sum over all clients' images (p99: the worst)."""
    side, made = mode, []
    for paths in found[mode]:
        extract = "fio_latency" if field == "p99" else "fio"
        made.append(ctx.sample(extract, {"clients": paths}, job=mode, side=side, field=field))
    return made


def fio_course(
    ctx: Context, group: str, name: str, unit: str, found: Sequence[Sample], scale: float = 1.0
) -> Series:
    """Return the repetitions of a mode as a course over time: drawn side by side, the pauses left out."""
    width = float(ctx.params["warmup_s"]) + float(ctx.params["duration_s"])
    return Series(
        name=name,
        group=group,
        kind="time",
        x_label="time",
        x_unit="s",
        y_label="rate",
        y_unit=unit,
        points=[(i * width + width / 2, s.value * scale) for i, s in enumerate(found)],
    )

"""Building blocks that several checks share: windows of filegen, series for plots, cleaning up."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from avadm_validation.measuring.context import Context, MeasureError
from avadm_validation.measuring.extract import document
from avadm_validation.protocol.model import Sample, Series
from avadm_validation.suites.storage.extract.windows import rates
from avadm_validation.suites.storage.space import most_files
from avadm_validation.suites.storage.tools import filegen

ASIDE = "folders put aside"
"""Under which a run's checks leave the folders that are to be removed at its end, each with the clients that filled it."""


def window_options(ctx: Context, files: int, *, repeat: int = 0) -> list[str | float]:
    """Return filegen's options for the effort's windows, in each of which a process makes ``files`` at most."""
    p = ctx.params
    return [
        "--repeat",
        repeat or int(p["repetitions"]),
        "--gap",
        float(p.get("gap_s", 0.3)),
        "--duration",
        float(p["warmup_s"]) + float(p["duration_s"]),
        "--warmup",
        float(p["warmup_s"]),
        "--procs",
        int(p["procs"]),
        "--size",
        int(p["size"]),
        "--files",
        files,
    ]


def counts(ctx: Context, path: str) -> str:
    """Return how many files each process made in each repetition, as filegen's ``--counts`` takes it."""
    repetitions = document(ctx.read(path)).get("repetitions", [])
    return "/".join(",".join(str(n) for n in r["made"]) for r in repetitions)


def create(
    ctx: Context, clients: Sequence[str], folder: str, *more: str | float, repeat: int = 0, share: float = 1.0
) -> list[str]:
    """Let clients create files in windows, then ``fill_s`` more that do not count, so that readers do not run out.

    All of it stays within ``share`` of the space that the check may fill.
    """
    own: dict[str, list[str | float]] = {c: ["--dir", folder, "--client", c] for c in clients}
    extra = () if repeat else ("--extra", float(ctx.params["fill_s"]))
    files = most_files(ctx, len(clients), repeat or int(ctx.params["repetitions"]) + 1, share)
    return filegen(ctx, "create", own, *window_options(ctx, files, repeat=repeat), *extra, *more)


def read_others(ctx: Context, writers: Sequence[str], made: Sequence[str], folder: str) -> list[str]:
    """Let each client read its share of what the others wrote, each file once: its own cache is cold.

    Args:
        ctx: the check.
        writers: clients that wrote.
        made: raw files of their writing, in the same order.
        folder: where they wrote.
    """
    readers = list(writers) if len(writers) > 1 else [c for c in ctx.target.clients if c != writers[0]][:1]
    if not readers:
        raise MeasureError("a cold read needs a second client: give another node the role client")
    pool = ";".join(f"{w}={counts(ctx, path)}" for w, path in zip(writers, made, strict=True))
    own: dict[str, list[str | float]] = {
        r: ["--dir", folder, "--reader", r, "--client", r, "--readers", ",".join(readers), "--writers", pool]
        for r in readers
    }
    options = window_options(ctx, 10_000_000)
    options += ["--duration", float(ctx.params["warmup_s"]) + float(ctx.params["read_s"])]
    return filegen(ctx, "read", own, *options)


def samples(ctx: Context, extract: str, paths: list[str], **params: float | str) -> list[Sample]:
    """Make one sample for each repetition; a window in which a client had nothing left to do is none."""
    found = [document(ctx.read(p)).get("repetitions", []) for p in paths]
    n = max((sum(not r.get("extra") for r in repetitions) for repetitions in found), default=0)
    every = (ctx.sample(extract, {"clients": paths}, repetition=float(i), **params) for i in range(n))
    return [s for s in every if s.seconds > 0]


def course(
    ctx: Context, group: str, name: str, paths: Sequence[str], unit: str, scale: float = 1.0
) -> Series:
    """Return throughput over time of all clients together, half-second steps, gaps between windows left out."""
    bins: dict[int, float] = {}
    start = None
    for path in paths:
        doc = document(ctx.read(path))
        for window in doc.get("repetitions", [doc]):
            start = window["start"] if start is None else min(start, window["start"])
    step = 0.5
    for path in paths:
        doc = document(ctx.read(path))
        for window in doc.get("repetitions", [doc]):
            last = int((window["start"] + window["end_s"] - (start or 0)) / step)
            for i, n in enumerate(window["ticks"]):
                at = int((window["start"] + i * window["tick_s"] - (start or 0)) / step)
                if at < last:
                    bins[at] = bins.get(at, 0.0) + n * scale / step
    return Series(
        name=name,
        group=group,
        kind="time",
        x_label="time",
        x_unit="s",
        y_label="throughput",
        y_unit=unit,
        points=[(i * step, bins[i]) for i in sorted(bins)],
    )


def per_client(
    ctx: Context, group: str, name: str, paths: Sequence[str], unit: str, params: Mapping[str, float | str]
) -> Series:
    """Return each client's rate in a repetition, by the client's number."""
    found = rates({"clients": [ctx.read(p) for p in paths]}, params)
    return Series(
        name=name,
        group=group,
        kind="scaling",
        x_label="client",
        x_unit="number",
        y_label="rate",
        y_unit=unit,
        points=[(i + 1, r) for i, r in enumerate(found)],
    )


def put_aside(ctx: Context, clients: Sequence[str], folder: str) -> None:
    """Rename a check's folder, to be removed by ``remove_aside``: the MDS purges for a while, which later windows would feel."""
    aside = ctx.shared.setdefault(ASIDE, [])
    gone = f"{folder}.gone-{len(aside)}"
    ctx.tell("put the files aside")
    moved = ctx.rec.run(clients[0], f"mv -T {shlex.quote(folder)} {shlex.quote(gone)}", "put-aside")
    if moved.rc == 0 and not moved.error:
        aside.append((tuple(clients), gone))
    else:
        drop(ctx, clients, folder)


def remove_aside(ctx: Context) -> None:
    """Remove what the run's checks have put aside, when nothing is timed any more."""
    for clients, folder in ctx.shared.pop(ASIDE, []):
        drop(ctx, clients, folder)


def drop(ctx: Context, clients: Sequence[str], folder: str) -> None:
    """Remove a check's files: each client those that it made, all at once; failures are left to the end's sweep.

    Only inside their own folders at the same time: see filegen's layout. What is then empty one client removes.
    """
    quoted, limit = shlex.quote(folder), float(ctx.params.get("timeout_s", 300))
    commands = {c: f"rm -rf {quoted}/{shlex.quote(c)}/* {quoted}/*/{shlex.quote(c)}/*" for c in clients}
    ctx.tell("clean up")
    ctx.rec.map(commands, "clean", timeout=limit)
    ctx.rec.run(clients[0], f"rm -rf {quoted}", "clean", timeout=limit)

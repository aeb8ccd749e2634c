"""The tools that the suite puts on clients, and how they are called there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files

from avadm_validation.measuring.context import Context

TOOLS = ("filegen.py", "rbdread.py", "rbdlock.py")


def tool_sources() -> dict[str, bytes]:
    """Return the tools that run on nodes, by file name."""
    folder = files("avadm_validation") / "tools"
    return {name: (folder / name).read_bytes() for name in TOOLS}


def image_tool(ctx: Context, script: str, *arguments: str | float, image: str, **options: str | float) -> str:
    """Return the command line of a tool that opens an image of the pool as the clients' user."""
    place = {"user": ctx.target.rbd_user, "pool": str(ctx.target.pool), "image": image}
    return ctx.tool_by(ctx.target.ceph_python, script, arguments, {**place, **options})


def filegen(
    ctx: Context, op: str, per_client: Mapping[str, Sequence[str | float]], *common: str | float
) -> list[str]:
    """Run filegen on several clients with one start gate; return their raw files in order."""
    options = dict(zip(common[::2], common[1::2], strict=False))
    repeat = int(options.get("--repeat", 1))
    seconds = repeat * (float(options.get("--duration", 0)) + float(options.get("--gap", 0.3)))
    seconds += float(options.get("--extra", 0))
    # One client alone has no one to wait for.
    gate = ctx.gate() if len(per_client) > 1 else 0.0
    commands = {
        node: ctx.tool("filegen.py", op, "--seed", ctx.seed, "--start", f"{gate:.3f}", *common, *own)
        for node, own in per_client.items()
    }
    ctx.step(op, repeat, seconds)
    return ctx.everywhere(commands, op, timeout=seconds + float(ctx.params.get("timeout_s", 300)))

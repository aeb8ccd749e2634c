"""A-BD6: one client has an image read-write; a second writer is refused while the first lives."""

from __future__ import annotations

import shlex
import threading
import time

from avadm_validation.measuring.context import Context, MeasureError, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.fleet import Result
from avadm_validation.suites.storage.rbd import rbd, remove
from avadm_validation.suites.storage.tools import image_tool

ID = "A-BD6"
TITLE = ("rbd: one writer, a second one refused", "rbd:单客户端读写,拒绝第二个写入者")
NEEDS = "rbd"


def run(ctx: Context) -> Outcome:
    """Hold the exclusive lock on one client, try from another, let go, try again."""
    if len(ctx.target.clients) < 2:
        raise MeasureError("a second writer needs a second node with the role client")
    first, second = ctx.target.clients[:2]
    image, wait = f"{ctx.name}-lock", float(ctx.params["try_s"])
    held, until = f"{ctx.tools}/held", f"{ctx.tools}/until"
    ctx.step("second writer while the first lives", 1, 2 * wait)
    try:
        rbd(ctx, f"create --size 64M {image}", "create")
        results: list[Result] = []
        hold = image_tool(
            ctx, "rbdlock.py", "hold", image=image, held=held, until=until, seconds=60 + 3 * wait
        )
        clean = f"rm -f {shlex.quote(held)} {shlex.quote(until)}"
        ctx.must(ctx.rec.run(first, clean, "prepare"))
        holder = threading.Thread(
            target=lambda: results.append(ctx.rec.fleet.run(first, hold, timeout=120 + 3 * wait))
        )
        holder.start()
        try:
            _wait_for(ctx, first, held)
            during = _try(ctx, second, image, wait, "try-during")
        finally:
            ctx.rec.run(first, f"touch {shlex.quote(until)}", "let-go")
            holder.join()
        holding = ctx.rec.keep(ctx.must(results[0]), "hold") or ""
        ctx.step("second writer after the first let go")
        after = _try(ctx, second, image, wait, "try-after")
    finally:
        remove(ctx, image)
    refused = "EROFS|EBUSY|blocked|EPERM"

    def yes(name: str, titles: tuple[str, str], path: str, key: str, value: str):  # type: ignore[no-untyped-def]  # noqa: ANN202
        return metric(
            name, titles, "bool", "client", [ctx.sample("equals", {"doc": [path]}, path=key, value=value)]
        )

    return Outcome(
        method=f"librbd (python bindings): {first} takes the exclusive lock for itself (RBD_LOCK_MODE_EXCLUSIVE) and "
        f"writes; {second} asks for the lock and writes without asking, at most {wait:g} s each; then {first} lets go "
        f"and {second} tries again",
        metrics=[
            yes(
                "held",
                ("the first writer got the lock (1 = yes)", "首个写入者获得锁"),
                holding,
                "lock",
                "got",
            ),
            yes(
                "lock-refused",
                ("the second writer's lock was refused", "第二写入者加锁被拒绝"),
                during,
                "lock",
                refused,
            ),
            yes(
                "write-refused",
                ("the second writer's write was refused", "第二写入者写入被拒绝"),
                during,
                "write",
                refused,
            ),
            yes(
                "kept",
                ("the first writer's data are unharmed", "首个写入者数据完好"),
                holding,
                "mark",
                "kept",
            ),
            yes(
                "handed-over",
                ("after the first let go, the second one writes", "释放后第二写入者可写"),
                after,
                "write",
                "done",
            ),
        ],
        remedy="The image needs the feature exclusive-lock (rbd feature enable POOL/IMAGE exclusive-lock).",
    )


def _try(ctx: Context, node: str, image: str, wait: float, name: str) -> str:
    command = image_tool(ctx, "rbdlock.py", "try", image=image, seconds=wait)
    return ctx.everywhere({node: command}, name, timeout=60 + 3 * wait)[0]


def _wait_for(ctx: Context, node: str, path: str, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if ctx.rec.fleet.run(node, f"test -s {shlex.quote(path)}").rc == 0:
            return
        time.sleep(0.1)
    raise MeasureError(f"{node}: the first writer did not open the image within {seconds:g} s")

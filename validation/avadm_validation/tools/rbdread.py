#!/usr/bin/env python
"""Read an rbd image (or snapshot of one) read-only for some seconds, many requests in flight; print JSON.

Runs on nodes: Python 2.7 and 3 with ceph's own bindings (python-rbd). Each block that is read is compared whole with
what ``--fill`` wrote there: its own offset, eight bytes at a time. With ``--try-write`` it also tries one write and one
discard through the read-only handle and says what came of each.

Output: {"tool": "rbdread", "client", "repetitions": [a window as filegen prints it, its "ticks" in bytes, with
"bad_blocks" whose content is wrong], "filled": bytes, "write": null | {"write": "EROFS" | "done" | ..., "discard", "resize"}}.
"""

from __future__ import print_function

import argparse
import errno
import json
import random
import struct
import sys
import threading
import time

import rados
import rbd

TICK_S = 0.1


def bucket(seconds):
    us = int(seconds * 1e6)
    scale = 1
    while us >= 100:
        us //= 10
        scale *= 10
    return us * scale


def attempt(act):
    """Do what must not be possible; return the error's name, or "done"."""
    try:
        act()
        return "done"
    except rbd.ReadOnlyImage:
        return "EROFS"
    except rbd.Error as e:
        return errno.errorcode.get(abs(getattr(e, "errno", 0) or 0), type(e).__name__)


def content(offset, size):
    """Return what belongs at an offset of the image."""
    return struct.pack("<Q", offset) * (size // 8)


def fill(image, args, blocks):
    """Write every block once, several at a time; return how many bytes that were."""
    todo, errors = iter(range(blocks)), []
    lock = threading.Lock()

    def writer():
        try:
            while not errors:
                with lock:
                    number = next(todo, None)
                if number is None:
                    return
                image.write(content(number * args.block, args.block), number * args.block)
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=writer) for _ in range(args.depth)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]
    image.flush()
    return blocks * args.block


def window(image, args, rep, start, length, blocks):
    """Read in one window from several threads; return what filegen prints for one of its windows."""
    lock = threading.Lock()
    ticks, latency, bad, errors, ends, late = [], {}, [0], [], [], time.time() - start

    def reader(number):
        rng = random.Random("%d:%s:%d:%d" % (args.seed, args.client, rep, number))
        while time.time() < start:
            time.sleep(max(0.0, min(0.02, start - time.time())))
        now = time.time()
        while now < start + length:
            try:
                offset = rng.randrange(blocks) * args.block
                data = image.read(offset, args.block)
            except rbd.Error as e:
                with lock:
                    errors.append(str(e))
                break
            done = time.time()
            wrong = data != content(offset, args.block)
            tick = int((done - start) / TICK_S)
            with lock:
                if tick >= len(ticks):
                    ticks.extend([0] * (tick + 1 - len(ticks)))
                ticks[tick] += len(data)
                if done - start >= args.warmup:
                    b = bucket(done - now)
                    latency[b] = latency.get(b, 0) + 1
                bad[0] += wrong
            now = time.time()
        with lock:
            ends.append(time.time() - start)

    threads = [threading.Thread(target=reader, args=(i,)) for i in range(args.depth)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return {
        "start": start,
        "tick_s": TICK_S,
        "warmup_s": args.warmup,
        "duration_s": length,
        "end_s": min(ends),
        "late_s": max(0.0, late),
        "ticks": ticks,
        "latency_us": latency,
        "bad_blocks": bad[0],
        "errors": errors[:5],
        "error_count": len(errors),
        "made": [sum(ticks)],
    }


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--user", default="admin")
    p.add_argument("--pool", required=True)
    p.add_argument("--image", required=True)
    p.add_argument("--snap", default="")
    p.add_argument("--client", default="c0")
    p.add_argument("--start", type=float, default=0.0)
    p.add_argument("--duration", type=float, default=2.0)
    p.add_argument("--warmup", type=float, default=0.0)
    p.add_argument("--repeat", type=int, default=1)
    p.add_argument("--gap", type=float, default=0.3)
    p.add_argument("--block", type=int, default=1 << 20)
    p.add_argument("--depth", type=int, default=8)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--fill", action="store_true", help="write the image over with what readers will compare")
    p.add_argument("--try-write", action="store_true")
    args = p.parse_args()
    cluster = rados.Rados(conffile="/etc/ceph/ceph.conf", rados_id=args.user)
    cluster.conf_set("rbd_cache", "false")  # what is measured is the cluster, not this client's memory
    cluster.connect()
    io = cluster.open_ioctx(args.pool)
    image = rbd.Image(io, args.image, snapshot=args.snap or None, read_only=not args.fill)
    blocks = image.size() // args.block
    filled = fill(image, args, blocks) if args.fill else 0
    start = args.start or time.time()
    length = args.warmup + args.duration
    out = []
    for i in range(args.repeat if args.duration and not args.fill else 0):
        out.append(window(image, args, i, start + i * (length + args.gap), length, blocks))
    write = None
    if args.try_write:
        write = {
            "write": attempt(lambda: image.write(b"x" * 512, 0)),
            "discard": attempt(lambda: image.discard(0, args.block)),
            "resize": attempt(lambda: image.resize(image.size() + args.block)),
        }
    image.close()
    io.close()
    cluster.shutdown()
    print(
        json.dumps(
            {"tool": "rbdread", "client": args.client, "repetitions": out, "filled": filled, "write": write}
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

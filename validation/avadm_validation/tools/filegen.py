#!/usr/bin/env python
"""Create, read, stat and count many files with several processes, and print what was measured as JSON.

Runs on nodes: Python 2.7 and 3, standard library only. All clients of a measurement get the same start gate
(``--start``, epoch seconds), so that their windows lie over each other; a *stonewall* ends the window of a client
when the first of its processes has run out of files. ``--repeat N`` makes N windows with a gate each.

Files are ``DIR/CLIENT/rR.pP/F`` (``--layout own``) or ``DIR/rR/CLIENT.P.F`` (``--layout shared``); the content of
each is a function of its name and the seed, so that any client can verify what another wrote. No directory of the own
layout is written by two clients: with ceph-fuse, two that remove entries of one directory, of which they know each
other's, can wait for each other for ever.

Output: {"tool": "filegen", "op", "client", "procs", "size", "repetitions": [{"start", "tick_s", "warmup_s",
"duration_s", "end_s" (stonewall, seconds after start), "late_s", "ticks": [operations per tick], "made": [files per
process], "latency_us": {BUCKET: COUNT}, "errors": [text], "error_count"}]}. Latencies are rounded to two significant
digits; those of the warm-up are left out.
"""

from __future__ import print_function

import argparse
import binascii
import errno
import itertools
import json
import os
import random
import sys
import time
import traceback
import zlib

TICK_S = 0.1
RANDOM_BYTES = 1 << 20

try:
    clock = time.perf_counter
except AttributeError:  # python 2.7
    clock = time.time


class Content(object):
    """Content of a file: a header that names it, then a slice of one seeded random block, repeated to its size."""

    def __init__(self, seed):
        bits = random.Random(seed).getrandbits(8 * RANDOM_BYTES)
        self.block = binascii.unhexlify(("%x" % bits).zfill(2 * RANDOM_BYTES))

    def make(self, key, size):
        header = ("avadm-accept:%s\n" % key).encode("ascii")
        offset = zlib.crc32(header) & 0xFFFF
        body = self.block[offset:] + self.block[:offset]
        missing = size - len(header)
        if missing > len(body):
            body = body * (missing // len(body) + 1)
        return (header + body)[:size]


def bucket(seconds):
    """Round a latency to two significant digits of microseconds."""
    us = int(seconds * 1e6)
    scale = 1
    while us >= 100:
        us //= 10
        scale *= 10
    return us * scale


def path_of(folder, layout, client, rep, proc, number):
    if layout == "shared":
        return "%s/r%d/%s.%d.%07d" % (folder, rep, client, proc, number)
    return "%s/%s/r%d.p%d/%07d" % (folder, client, rep, proc, number)


def key_of(path):
    """Return the part of a path that its content is made from: what follows the run's folder."""
    return "/".join(path.split("/")[-3:])


def write_all(fd, data):
    view = memoryview(data)
    while len(view):
        view = view[os.write(fd, view) :]


def read_all(fd, size):
    parts, left = [], size + 1
    while left > 0:
        part = os.read(fd, min(left, 4 << 20))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def op_create(args, content, path):
    data = content.make(key_of(path), args.size)
    begin = clock()
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    try:
        write_all(fd, data)
        if args.fsync:
            os.fsync(fd)
    finally:
        os.close(fd)
    return begin


def op_rewrite(args, content, path):
    data = content.make(key_of(path), args.size)
    begin = clock()
    fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
    try:
        write_all(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)
    return begin


def op_read(args, content, path):
    begin = clock()
    fd = os.open(path, os.O_RDONLY)
    try:
        data = read_all(fd, args.size)
    finally:
        os.close(fd)
    done = clock()
    # The header always, all of it when asked to: comparing 10 KB costs next to nothing, megabytes do not.
    want = content.make(key_of(path), args.size) if args.verify else None
    if want is not None and data != want or not data.startswith(b"avadm-accept:") or len(data) != args.size:
        raise IOError(errno.EIO, "content differs from what was written", path)
    return begin + (clock() - done)


def op_stat(args, content, path):
    begin = clock()
    if os.stat(path).st_size != args.size:
        raise IOError(errno.EIO, "size differs from what was written", path)
    return begin


def op_unlink(args, content, path):
    begin = clock()
    os.unlink(path)
    return begin


OPS = {"create": op_create, "rewrite": op_rewrite, "read": op_read, "stat": op_stat, "unlink": op_unlink}


def own_paths(args, rep, proc):
    """Yield the files of one process of --client, in the order that the operation wants."""
    if args.op == "create":
        todo = range(args.files)
    else:
        mine = int(args.counts.split(",")[proc]) if args.counts else args.files
        todo = range(min(args.files, mine))
        if args.op == "stat":
            rng = random.Random(args.seed * 1000 + proc)
            todo = (rng.randrange(mine) for _ in range(args.files if mine else 0))
    for number in todo:
        yield path_of(args.dir, args.layout, args.client, rep, proc, number)


def others_paths(args, proc):
    """Yield this reader's share of what other clients wrote: each file goes to one process of one reader."""
    readers = args.readers.split(",")
    for entry in args.writers.split(";"):
        writer, _, made = entry.partition("=")
        others = [r for r in readers if r != writer]
        if args.reader not in others:
            continue
        first = others.index(args.reader) * args.procs + proc
        for rep, counts in enumerate(made.split("/")):
            for wproc, count in enumerate(counts.split(",")):
                for number in range(first, int(count), len(others) * args.procs):
                    yield path_of(args.dir, args.layout, writer, rep, wproc, number)


def others_share(args, proc, skip, windows):
    """Return how many of the files that are left one process may read in this window: an equal share of each to come.

    A reader that is faster than the writers were would otherwise leave the last windows nothing to measure.
    """
    left = sum(1 for _ in others_paths(args, proc)) - skip
    return max(0, left // windows)


def worker(args, content, rep, proc, start, skip, windows):
    """Run one process's share of one repetition; return its result."""
    act = OPS[args.op]
    ticks, latency, errors, error_count, done = [], {}, [], 0, 0
    if args.writers:
        share = others_share(args, proc, skip, windows)
        todo = itertools.islice(others_paths(args, proc), skip, skip + share)
    else:
        todo = own_paths(args, rep, proc)
    late = time.time() - start
    while time.time() < start:
        time.sleep(max(0.0, min(0.02, start - time.time())))
    base = clock() - (time.time() - start)
    now = clock()
    stop = base + args.duration if args.duration else None
    for path in todo:
        if stop is not None and now >= stop:
            break
        try:
            begin = act(args, content, path)
            now = clock()
            done += 1
            tick = int((now - base) / TICK_S)
            if tick >= len(ticks):
                ticks.extend([0] * (tick + 1 - len(ticks)))
            ticks[tick] += 1
            if now - base >= args.warmup:
                b = bucket(now - begin)
                latency[b] = latency.get(b, 0) + 1
        except (OSError, IOError) as e:
            now = clock()
            error_count += 1
            if len(errors) < 5:
                errors.append("%s: %s" % (path, e))
            if e.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ENOTCONN):
                break
    return {
        "ticks": ticks,
        "latency": latency,
        "errors": errors,
        "error_count": error_count,
        "made": done,
        "tried": done + error_count,
        "late": late,
        "end": clock() - base,
    }


def repetition(args, content, rep, start, skips, windows):
    """Fork the processes of one repetition, the first of ``windows`` that are left, and merge their results."""
    pipes = []
    for proc in range(args.procs):
        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.close(r)
                result = worker(args, content, rep, proc, start, skips[proc], windows)
                with os.fdopen(w, "w") as out:
                    json.dump(result, out)
                code = 0
            except Exception:
                traceback.print_exc()
            os._exit(code)
        os.close(w)
        pipes.append((pid, r))
    results = []
    for pid, r in pipes:
        with os.fdopen(r) as f:
            text = f.read()
        os.waitpid(pid, 0)
        results.append(
            json.loads(text)
            if text
            else {
                "ticks": [],
                "latency": {},
                "errors": ["a process died"],
                "error_count": 1,
                "made": 0,
                "tried": 0,
                "late": 0.0,
                "end": 0.0,
            }
        )
    length = max(len(x["ticks"]) for x in results)
    latency = {}
    for x in results:
        for b, n in x["latency"].items():
            latency[b] = latency.get(b, 0) + n
    return {
        "start": start,
        "tick_s": TICK_S,
        "warmup_s": args.warmup,
        "duration_s": args.duration,
        "end_s": min(x["end"] for x in results),
        "last_s": max(x["end"] for x in results),
        "late_s": max(0.0, max(x["late"] for x in results)),
        "ticks": [sum(x["ticks"][i] for x in results if i < len(x["ticks"])) for i in range(length)],
        "made": [x["made"] for x in results],
        "tried": [x["tried"] for x in results],
        "latency_us": latency,
        "errors": sum((x["errors"] for x in results), [])[:5],
        "error_count": sum(x["error_count"] for x in results),
    }


def prepare(args):
    """Make the folders that files will lie in, before the gate opens."""
    for rep in range(args.first, args.first + args.repeat + bool(args.extra)):
        for proc in range(args.procs):
            folder = os.path.dirname(path_of(args.dir, args.layout, args.client, rep, proc, 0))
            try:
                os.makedirs(folder)
            except OSError as e:
                if e.errno != errno.EEXIST:
                    raise


def count(args):
    """Count a folder's entries by reading it: one pass, no stat."""
    begin = clock()
    names = os.listdir(args.dir)
    return {
        "tool": "filegen",
        "op": "count",
        "client": args.client,
        "entries": len(names),
        "distinct": len(set(names)),
        "seconds": clock() - begin,
    }


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("op", choices=sorted(OPS) + ["count"])
    p.add_argument("--dir", required=True)
    p.add_argument("--client", default="c0", help="name of the client whose files these are")
    p.add_argument("--layout", choices=["own", "shared"], default="own")
    p.add_argument(
        "--files", type=int, default=1000000, help="most files (or stats) a process does in a repetition"
    )
    p.add_argument(
        "--counts", default="", help="how many files each process made, comma separated per repetition by /"
    )
    p.add_argument(
        "--writers", default="", help="read: CLIENT=counts;... whose files are read, a new share each window"
    )
    p.add_argument("--readers", default="", help="read: all clients that read, comma separated")
    p.add_argument("--reader", default="", help="read: which of them this one is")
    p.add_argument("--size", type=int, default=10240, help="bytes per file")
    p.add_argument("--procs", type=int, default=1)
    p.add_argument("--duration", type=float, default=0.0, help="seconds; 0: until all files are done")
    p.add_argument(
        "--warmup", type=float, default=0.0, help="seconds at the start of each window that do not count"
    )
    p.add_argument("--start", type=float, default=0.0, help="epoch seconds of the first gate; 0: at once")
    p.add_argument("--repeat", type=int, default=1)
    p.add_argument("--extra", type=float, default=0.0, help="seconds of one more window that does not count")
    p.add_argument("--first", type=int, default=0, help="number of the first repetition")
    p.add_argument("--gap", type=float, default=0.3, help="seconds between two windows")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--fsync", action="store_true", help="fsync before close")
    p.add_argument("--verify", action="store_true", help="compare the whole content")
    args = p.parse_args()
    if args.op == "count":
        print(json.dumps(count(args)))
        return 0
    content = Content(args.seed)
    if args.op == "create":
        prepare(args)
    counts = args.counts.split("/")
    start = args.start or time.time()
    out, skips = [], [0] * args.procs
    windows = [args.duration] * args.repeat + ([args.extra] if args.extra else [])
    for i, args.duration in enumerate(windows):
        args.counts = counts[i] if i < len(counts) else ""
        gate = start if args.duration else max(start, time.time())
        out.append(repetition(args, content, args.first + i, gate, skips, len(windows) - i))
        out[-1]["extra"] = i >= args.repeat
        skips = [a + b for a, b in zip(skips, out[-1]["tried"])]
        start = gate + args.duration + args.gap
    print(
        json.dumps(
            {
                "tool": "filegen",
                "op": args.op,
                "client": args.client,
                "procs": args.procs,
                "size": args.size,
                "fsync": args.fsync,
                "repetitions": out,
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

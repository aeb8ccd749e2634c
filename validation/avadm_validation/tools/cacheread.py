"""Writes files whose bytes follow from their names, reads them through a cache, and tells what was wrong; Python 2.7 and 3.

Nothing is compared with a list that somebody wrote down: the reader makes each file's bytes again from seed, version, name
and size. Prints one JSON object.
"""

import argparse
import hashlib
import json
import os
import struct
import sys
import time

BLOCK = 65536


def block(seed, version, name, number):
    """Return the bytes of one block: no two blocks, files, versions or seeds have the same."""
    head = struct.pack(">Q", number)
    digest = hashlib.sha512(("%s/%s/%s/" % (seed, version, name)).encode("ascii") + head).digest()
    return digest * (BLOCK // len(digest))


def blocks(seed, version, name, size):
    """Yield a file's bytes."""
    for number in range((size + BLOCK - 1) // BLOCK):
        yield block(seed, version, name, number)[: size - number * BLOCK]


def names(count):
    """Return the names of so many files."""
    return ["f%06d" % i for i in range(count)]


def make(a):
    """Write the files, each whole before the next."""
    if not os.path.isdir(a.dir):
        os.makedirs(a.dir)
    for name in names(a.count):
        path = os.path.join(a.dir, name)
        with open(path + ".new" if a.rename else path, "wb") as stream:
            for part in blocks(a.seed, a.version, name, a.size):
                stream.write(part)
            stream.flush()
            os.fsync(stream.fileno())
        if a.rename:
            os.rename(path + ".new", path)
    return {"made": a.count, "bytes": a.count * a.size}


def is_version(a, name, content, version):
    """Whether the bytes read are those of a file's version."""
    return content == b"".join(blocks(a.seed, version, name, a.size))


def take(a, name):
    """Read one file; return (seconds, bytes read, what it is: a version, ``wrong``, or ``error: ...``)."""
    begun = time.time()
    try:
        with open(os.path.join(a.dir, name), "rb") as stream:
            parts = list(iter(lambda: stream.read(1 << 20), b""))
    except (IOError, OSError) as error:
        return time.time() - begun, 0, "error: %s" % error
    seconds, content = time.time() - begun, b"".join(parts)
    for version in a.version.split(","):
        if is_version(a, name, content, version):
            return seconds, len(content), version
    return seconds, len(content), "wrong"


def read(a):
    """Read every file in turn, once or for some seconds; only reading is timed, not the comparison.

    After a round with failed reads it reads for some seconds more, so that one failure at the very end is no lost file.
    """
    out = {
        "seconds": 0.0,
        "bytes": 0,
        "files": 0,
        "wrong": [],
        "errors": [],
        "rounds": 0,
        "last_error_s": None,
    }
    begun = time.time()
    while True:
        failed = 0
        for name in names(a.count):
            seconds, size, what = take(a, name)
            out["seconds"] += seconds
            out["bytes"] += size
            out["files"] += 1
            if what == "wrong":
                out["wrong"].append([name, size])
            elif what.startswith("error"):
                failed += 1
                out["last_error_s"] = time.time() - begun
                out["errors"].append([name, what])
        out["rounds"] += 1
        out["last_round_failed"] = failed
        lasted = time.time() - begun
        if lasted >= a.for_s and (not failed or lasted >= a.for_s + a.more_s):
            break
    out["lasted_s"] = time.time() - begun
    out["errors"] = out["errors"][:20] + [["more", str(len(out["errors"]) - 20)]] * (len(out["errors"]) > 20)
    return out


def wait(a):
    """Read the first file until it is of the last version; tell after how long, and whether it was ever anything else."""
    begun, out = time.time(), {"seen_s": None, "wrong": 0, "old": 0, "errors": 0}
    newest = a.version.split(",")[-1]
    while time.time() - begun < a.for_s:
        what = take(a, names(1)[0])[2]
        if what == newest:
            out["seen_s"] = time.time() - begun
            break
        if what == "wrong":
            out["wrong"] += 1
        elif what.startswith("error"):
            out["errors"] += 1
        else:
            out["old"] += 1
        time.sleep(0.5)
    return out


def main(argv=None, out=sys.stdout):
    """Run one command and print its result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["make", "read", "wait"])
    parser.add_argument("--dir", required=True)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--version", default="1", help="versions that are right, the newest last")
    parser.add_argument("--for-s", type=float, default=0.0)
    parser.add_argument("--more-s", type=float, default=0.0)
    parser.add_argument("--rename", type=int, default=0)
    a = parser.parse_args(argv)
    json.dump({"make": make, "read": read, "wait": wait}[a.command](a), out)


if __name__ == "__main__":
    main()

"""Clients of a load that run on a node, one process each: files, an image, objects, rows, requests.

The first line of standard input is the job as JSON (it may hold a password); the end of standard input ends the client,
so none outlives the ssh connection that started it. Standard output has one line per event, with the node's time in
seconds since the epoch:

    > TIME          it begins
    + KEY TIME      a write was acknowledged, or a request answered
    = TIME          something else was answered: the service is there
    ~ SEED          a pass over the whole image was written and verified
    - KEY           what was acknowledged is gone or has another content
    ! TIME TEXT     an error
    . TIME          it ended by itself

Standard library, and what the kind of client needs on its node: fio, boto3 or psycopg2. ``s3common`` is
validation/avadm_validation/tools/s3common.py, which precedes this text on the node.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import s3common

LIMIT_S = 6 * 3600
OVER = threading.Event()
LOCK = threading.Lock()


def say(mark, *words):
    with LOCK:
        print(mark, *words, flush=True)


def failed(error):
    text = " ".join(f"{type(error).__name__}: {error}".split())
    say("!", f"{time.time():.3f}", text[:300])


def done(key, at=None):
    say("+", key, f"{at or time.time():.3f}")


def steadily(every, act):
    """Call ``act`` with 0, 1, 2 … every so many seconds; an error is noted and costs that number."""
    number = 0
    while not OVER.is_set():
        try:
            act(number)
            done(number)
        except Exception as error:
            failed(error)
        number += 1
        OVER.wait(every)


def content(job, number):
    return s3common.content("{}-{}".format(job["seed"], number), job["size"])


def compared(job, read):
    """Report each key of the job whose content is not what was written."""
    for number in job["written"]:
        try:
            if s3common.digest(read(number)) == s3common.digest(content(job, number)):
                continue
        except Exception as error:
            failed(error)
        say("-", number)


def path_of(job, number):
    return Path(job["folder"]) / str(number // 1000) / str(number)


def files(job):
    def write(number):
        path = path_of(job, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content(job, number))
            stream.flush()
            os.fsync(stream.fileno())

    steadily(job["every"], write)


def files_check(job):
    compared(job, lambda number: path_of(job, number).read_bytes())


def fio(job, seed, *more):
    argv = ["fio", "--name=load", "--bs=64k", "--iodepth=4", "--rw=randwrite"]
    argv += ["--size={}".format(job["bytes"]), f"--randseed={seed}", "--verify=crc32c"]
    argv += ["--verify_fatal=1", "--verify_state_save=0", *job["image"], *more]
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def image(job):
    """Write all blocks of an image and verify them, again and again, each time with another content."""
    folder, seed = tempfile.mkdtemp(), 0
    os.chdir(folder)
    while not OVER.is_set():
        seed += 1
        more = ["--rate={}".format(job["rate"]), "--write_lat_log=c", "--log_unix_epoch=1"]
        found = fio(job, seed, *more)
        completed(seed, "c_lat.1.log")
        if differs(found, seed):
            OVER.wait(1)
        else:
            say("~", seed)


def differs(found, seed):
    """Report a run of fio that failed; blocks with another content are lost."""
    text = found.stdout.decode(errors="replace")
    if found.returncode and ("verify:" in text or "verify failed" in text):
        say("-", f"cycle-{seed}")
    if found.returncode:
        failed(OSError(text[-250:]))
    return found.returncode


def completed(seed, log):
    """Report what fio's log of latencies has: time in ms, latency, direction (1 is a write), size, offset."""
    if not Path(log).exists():
        return
    with Path(log).open() as stream:
        for number, line in enumerate(stream):
            at, _, direction = [word.strip() for word in line.split(",")[:3]]
            if direction == "1":
                done(f"{seed}.{number}", int(at) / 1000)
            else:
                say("=", f"{int(at) / 1000:.3f}")
    Path(log).unlink()


def image_check(job):
    if job["last"]:
        differs(fio(job, job["last"], "--verify_only=1"), job["last"])


def objects(job):
    s3 = s3common.client(job)
    steadily(
        job["every"],
        lambda number: s3.put_object(
            Bucket=job["bucket"], Key=key_of(job, number), Body=content(job, number)
        ),
    )


def key_of(job, number):
    return "{}/{}".format(job["folder"], number)


def objects_check(job):
    s3 = s3common.client(job)
    compared(job, lambda number: s3common.body(s3, job["bucket"], key_of(job, number)))


def objects_clean(job):
    s3 = s3common.client(job)
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=job["bucket"], Prefix=job["folder"] + "/")
    for page in pages:
        for one in page.get("Contents", []):
            s3.delete_object(Bucket=job["bucket"], Key=one["Key"])


def connected(job):
    import psycopg2

    os.environ["PGPASSWORD"] = job["password"]
    link = psycopg2.connect(job["where"])
    link.autocommit = True
    return link


def rows(job):
    """Insert one row after the other, each committed; a connection that fails is made again."""
    link = []

    def write(number):
        try:
            if not link:
                link.append(connected(job))
            with link[0].cursor() as cursor:
                cursor.execute("INSERT INTO {} VALUES (%s)".format(job["table"]), (number,))  # noqa: S608 - our own
        except Exception:
            link.clear()
            raise

    steadily(job["every"], write)


def rows_check(job):
    with connected(job).cursor() as cursor:
        cursor.execute("SELECT n FROM {}".format(job["table"]))  # noqa: S608 - our own
        kept = {n for (n,) in cursor.fetchall()}
    for number in job["written"]:
        if number not in kept:
            say("-", number)


def requests(job):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def ask(_):
        with opener.open(job["url"], timeout=job["timeout"]) as answer:
            answer.read()

    steadily(job["every"], ask)


KINDS = {
    "files": files,
    "files-check": files_check,
    "image": image,
    "image-check": image_check,
    "objects": objects,
    "objects-check": objects_check,
    "objects-clean": objects_clean,
    "rows": rows,
    "rows-check": rows_check,
    "requests": requests,
}


def ended():
    sys.stdin.read()
    OVER.set()


def main():
    job = json.loads(sys.stdin.readline())
    limit = threading.Timer(LIMIT_S, OVER.set)
    for thread in (threading.Thread(target=ended), limit):
        thread.daemon = True
        thread.start()
    say(">", f"{time.time():.3f}")
    KINDS[job["kind"]](job)
    say(".", f"{time.time():.3f}")


if __name__ == "__main__":
    main()

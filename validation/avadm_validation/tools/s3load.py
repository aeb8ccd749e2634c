#!/usr/bin/env python
"""Load on an S3 store with boto3, each operation's end noted. Used by s3client.py beside it; Python 2.7 and 3."""

from __future__ import print_function

import random
import threading
import time

from s3common import body, client, code_of, content, digest


class Worker(threading.Thread):
    """Writes or reads objects until it is stopped, one at a time.

    Args:
        s3: client.
        job: with bucket, size, op.
        own: this worker's part of the keys' names.
        count: how many objects there are to read.
    """

    def __init__(self, s3, job, own, count):
        threading.Thread.__init__(self)
        self.daemon = True
        self.s3, self.job, self.own, self.count = s3, job, own, count
        self.data = content(own, job["size"])
        self.sum = digest(self.data)
        self.done, self.errors, self.wrong = [], [], 0
        self.written = 0
        self.end = threading.Event()
        self.rng = random.Random(own)  # noqa: S311 - which object is read next

    def run(self):
        number = 0
        while not self.end.is_set():
            try:
                if self.job["op"] == "mixed":
                    self.put(number % 16)
                    self.get(number % 16)
                elif self.job["op"] == "put":
                    self.put(number)
                    self.written = number + 1
                else:
                    self.get(self.rng.randrange(self.count))
                self.done.append(time.time())
            except Exception as error:
                self.errors.append([time.time(), code_of(error)])
                time.sleep(0.2)
            number += 1

    def put(self, number):
        self.s3.put_object(Bucket=self.job["bucket"], Key="%s/%d" % (self.own, number), Body=self.data)

    def get(self, number):
        found = body(self.s3, self.job["bucket"], "%s/%d" % (self.own, number))
        if digest(found) != self.sum:
            self.wrong += 1


def load(job):
    """Write, read, or both for a while with several threads; tells each completed operation's moment."""
    s3 = client(job)
    counts = job.get("counts") or [0] * job["threads"]
    workers = [
        Worker(s3, job, "%s-%d" % (job["client"], i), counts[i])
        for i in range(job["threads"])
        if job["op"] != "get" or counts[i]
    ]
    if not workers:
        raise ValueError("there is nothing to read")
    begun = time.time()
    for worker in workers:
        worker.start()
    time.sleep(job["seconds"])
    for worker in workers:
        worker.end.set()
    for worker in workers:
        worker.join(job.get("read_timeout_s", 60) * 6)
    ended = time.time()
    # Milliseconds since the start; operations that end after the time belong to it too, as does their time.
    done = sorted(int((t - begun) * 1000) for w in workers for t in w.done)
    return {
        "begun": begun,
        "seconds": ended - begun,
        "size": job["size"],
        "done_ms": done,
        "errors": [[int((t - begun) * 1000), code] for w in workers for t, code in w.errors],
        "hanging": sum(w.is_alive() for w in workers),
        "wrong": sum(w.wrong for w in workers),
        "counts": [w.written for w in workers],
    }

#!/usr/bin/python3
# Written by avadm; python 2.7 and 3.
"""avadm-etcd-copy put NODE FOLDER COUNT METRICS | list | fetch NODE/SNAPSHOT FILE: etcd's snapshots in the object store.

`put` copies the whole ones of FOLDER that the bucket lacks, the newest first, keeps COUNT of this node there, and tells
node_exporter how far it came. Where the bucket is, and the keys to it, is in a file that root alone can read.
"""

from __future__ import print_function

import hashlib
import json
import os
import re
import signal
import sys
import time
from calendar import timegm

SETTINGS = os.environ.get("AVADM_ETCD_STORE", "/etc/avadm/etcd/store.json")
SNAPSHOT = re.compile(r"^\d{8}T\d{6}Z\.db$")
MIB = 1 << 20
METRICS = (
    (
        "avadm_etcd_copy_timestamp_seconds",
        "When the newest snapshot in the store was taken; the oldest here where none is.",
    ),
    ("avadm_etcd_copy_failed", "Whether the last try left something uncopied."),
)


class CopyError(Exception):
    """A snapshot that is not whole, or did not arrive; the text is for people."""


class LateError(Exception):
    """The time is over."""


def digest(path):
    """Return a snapshot's SHA-256, hex; CopyError where its own digest, at its end, is not that of what stands before."""
    size, body = os.path.getsize(path), hashlib.sha256()
    with open(path, "rb") as source:
        left = max(size - 32, 0)
        while left:
            block = source.read(min(left, MIB))
            if not block:
                break
            body.update(block)
            left -= len(block)
        file, end = body.copy(), source.read(32)
    if end != body.digest():
        raise CopyError("%s is no whole snapshot of etcd: its digest is another one" % path)
    file.update(end)
    return file.hexdigest()


def taken(name):
    """Return when a snapshot was taken, seconds since 1970, by its name."""
    return timegm(time.strptime(name, "%Y%m%dT%H%M%SZ.db"))


class Store(object):
    """The bucket.

    Args:
        settings: endpoint, region, bucket, ca, access_key, secret_key.
    """

    def __init__(self, settings):
        # Checksums that boto3 sends by itself from 1.36 on are not understood by ceph's gateways; nothing of root's own
        # settings and no proxy has a say here. Older ones do not know these names.
        for name in ("AWS_REQUEST_CHECKSUM_CALCULATION", "AWS_RESPONSE_CHECKSUM_VALIDATION"):
            os.environ[name] = "when_required"
        for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
            os.environ[name] = os.devnull
        os.environ["no_proxy"] = os.environ["NO_PROXY"] = "*"
        import boto3
        from boto3.s3.transfer import TransferConfig
        from botocore.config import Config

        self.bucket = settings["bucket"]
        # One request takes 5 GiB at most; larger ones go in parts.
        self.transfer = TransferConfig(
            multipart_threshold=256 * MIB, multipart_chunksize=64 * MIB, max_concurrency=2
        )
        self.s3 = boto3.client(
            "s3",
            endpoint_url=settings["endpoint"],
            region_name=settings["region"],
            aws_access_key_id=settings["access_key"],
            aws_secret_access_key=settings["secret_key"],
            verify=settings["ca"],
            config=Config(
                signature_version="s3v4", s3={"addressing_style": "path"}, connect_timeout=5, read_timeout=60
            ),
        )

    def held(self, prefix=""):
        """Return key to size of what is there."""
        found = {}
        for page in self.s3.get_paginator("list_objects").paginate(Bucket=self.bucket, Prefix=prefix):
            found.update((item["Key"], item["Size"]) for item in page.get("Contents", []))
        return found

    def clear(self, prefix):
        """Remove the parts that one left who was killed: they take space and are in no list of objects."""
        for one in self.s3.list_multipart_uploads(Bucket=self.bucket, Prefix=prefix).get("Uploads", []):
            self.s3.abort_multipart_upload(Bucket=self.bucket, Key=one["Key"], UploadId=one["UploadId"])

    def put(self, path, key):
        """Copy a snapshot, and see that it arrived."""
        known, size = digest(path), os.path.getsize(path)
        more = {"Metadata": {"sha256": known}}
        self.s3.upload_file(path, self.bucket, key, ExtraArgs=more, Config=self.transfer)
        head = self.s3.head_object(Bucket=self.bucket, Key=key)
        found = (head["ContentLength"], head["Metadata"].get("sha256"))
        if found != (size, known):
            raise CopyError("%s: the store has %s, wanted %s" % (key, found, (size, known)))

    def remove(self, key):
        """Remove a copy."""
        self.s3.delete_object(Bucket=self.bucket, Key=key)

    def fetch(self, key, path):
        """Fetch a copy to where no file is; it is there once it is known to be whole."""
        if os.path.lexists(path):
            raise CopyError("%s is there already" % path)
        os.umask(0o077)
        part = path + ".part"
        try:
            self.s3.download_file(self.bucket, key, part)
            digest(part)
            os.rename(part, path)
        finally:
            if os.path.lexists(part):
                os.remove(part)


class CopyMetrics(object):
    """Metrics for node_exporter.

    Args:
        folder: its folder; no one is informed while it is not there.
        here: names of the snapshots on this node, sorted.
    """

    def __init__(self, folder, here):
        self.folder, self.path = folder, os.path.join(folder, "avadm-etcd-copy.prom")
        # Without any copy: for as long as there is something to copy.
        self.none = taken(here[0]) if here else int(time.time())
        try:
            with open(self.path) as last:
                found = re.search(r"^%s (\d+)$" % METRICS[0][0], last.read(), re.M)
        except EnvironmentError:
            found = None
        self.newest = int(found.group(1)) if found else self.none

    def write(self, failed, there=None):
        """Write the file; without names of what is in the store, which then did not answer, it is what it was last."""
        if there is not None:
            self.newest = taken(max(there)) if there else self.none
        if not os.path.isdir(self.folder):
            return
        lines = []
        for (name, about), value in zip(METRICS, (self.newest, failed)):
            lines += ["# HELP %s %s" % (name, about), "# TYPE %s gauge" % name, "%s %d" % (name, value)]
        new = os.path.join(self.folder, ".avadm-etcd-copy.new")
        with open(new, "w") as out:
            out.write("\n".join(lines) + "\n")
        os.chmod(new, 0o644)
        os.rename(new, self.path)


def put(connect, node, folder, count, metrics):
    """Copy what the bucket lacks; return the exit status.

    Args:
        connect: callable() -> Store.
        node: this node's name; its copies are below it.
        folder: where the snapshots are.
        count: how many are kept.
        metrics: node_exporter's folder.
    """
    here = sorted(name for name in os.listdir(folder) if SNAPSHOT.match(name))
    report = CopyMetrics(metrics, here)
    # One that is killed has reported, too.
    report.write(1)
    try:
        return bring(connect(), node + "/", folder, count, here, report)
    # boto's errors have no common parent, and whatever it is, it must be reported.
    except Exception as error:
        complain(error)
        report.write(1)
        return 1


def bring(store, prefix, folder, count, here, metrics):
    """Copy, then remove the old; return 1 where one could not be copied, else 0."""
    sizes = dict((name, os.path.getsize(os.path.join(folder, name))) for name in here)
    held = dict((key[len(prefix) :], size) for key, size in store.held(prefix).items())
    # One of another size is no copy.
    there = set(n for n in held if SNAPSHOT.match(n) and held[n] == sizes.get(n, held[n]))
    store.clear(prefix)
    failed = 0
    # The newest first, and none that would be removed again.
    for name in sorted(there.union(here), reverse=True)[:count]:
        if name in there:
            continue
        try:
            store.put(os.path.join(folder, name), prefix + name)
        except CopyError as error:
            complain(error)
            failed = 1
            continue
        there.add(name)
        metrics.write(1, there)
        print("%s%s is in the store" % (prefix, name))
    metrics.write(failed, there)
    # Of those that are there: where none can be copied any more, none is removed either.
    for name in sorted(there, reverse=True)[count:]:
        store.remove(prefix + name)
    return failed


def complain(error):
    """Say what went wrong."""
    print(
        "Not copied: %s: %s. The snapshots on this node are not touched, and the next run tries again. Remedy: see that"
        " the object store answers, lets this key in and has room, and that `avadm apply objects etcd` is through."
        % (type(error).__name__, error),
        file=sys.stderr,
    )


def late(signum, frame):
    """End in order when the time is over."""
    raise LateError("it was stopped before it finished")


def connect():
    """Return the site's store."""
    if not os.path.exists(SETTINGS):
        raise CopyError("%s is not there: this site has no object store for copies" % SETTINGS)
    with open(SETTINGS) as source:
        return Store(json.load(source))


def main(argv):
    """Do what is asked; return the exit status."""
    if len(argv) == 5 and argv[0] == "put":
        return put(connect, argv[1], argv[2], int(argv[3]), argv[4])
    try:
        if argv == ["list"]:
            for key, size in sorted(connect().held().items()):
                print("%12d %s" % (size, key))
            return 0
        if len(argv) == 3 and argv[0] == "fetch":
            connect().fetch(argv[1], argv[2])
            print("%s is whole" % argv[2])
            return 0
    except Exception as error:
        print("%s: %s" % (type(error).__name__, error), file=sys.stderr)
        return 1
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, late)
    sys.exit(main(sys.argv[1:]))

"""Load S: checksummed files on cephfs, fio's verify on an rbd image, objects with SHA-256 in the object store."""

import contextlib
import json
import uuid
from functools import partial

from tests.lab.day2.loads.load import Load
from tests.lab.day2.loads.on_node import once, steady

EVERY_S = 0.25
SIZE = 16 << 10
IMAGE_BYTES = 8 << 20
RATE = "1m"
"""Bytes per second of fio: a pass over the image takes 8 s to write and 8 s to verify."""
MOUNT = "/mnt/cephfs"
CA = "/etc/avadm/objects/ca.crt"
USER, BUCKET = "lab-ai", "lab-data"


def storage(lab, away=()):
    """Return the load of a lab with ceph.

    Args:
        lab: the lab.
        away: nodes that will lose power or are no clients any more: no client of the load runs there.
    """
    clients = [name for name in lab.names("client") if name not in away]
    writer, reader = clients[0], clients[-1]
    parts = {
        "cephfs": partial(cephfs, lab, writer, reader),
        "rbd": partial(rbd, lab, reader, writer),
    }
    if lab.names("rgw"):
        parts["s3"] = partial(s3, lab, writer, reader)
    return Load("S", parts)


@contextlib.contextmanager
def cephfs(lab, writer, reader, stream):
    """Write files on one client, each synced; another one reads them back."""
    folder = f"{MOUNT}/avadm-load-{uuid.uuid4().hex[:8]}"
    job = {"folder": folder, "seed": folder, "size": SIZE}
    with contextlib.ExitStack() as stack:
        stack.callback(lab.run, reader, f"rm -rf {folder}", timeout=600)
        with steady(lab, writer, stream, kind="files", every=EVERY_S, **job):
            yield
        once(lab, reader, stream, kind="files-check", written=numbers(stream), **job)


@contextlib.contextmanager
def rbd(lab, writer, reader, stream):
    """Write all blocks of an image and verify them, again and again; another client verifies the last pass."""
    image = f"avadm-load-{uuid.uuid4().hex[:8]}"
    engine = ["--ioengine=rbd", "--clientname=rbd", "--pool=rbd", f"--rbdname={image}"]
    job = {"bytes": IMAGE_BYTES, "image": engine}
    lab.sh(writer, f"rbd --id rbd create --size {IMAGE_BYTES >> 20}M rbd/{image}")
    with contextlib.ExitStack() as stack:
        stack.callback(lab.run, reader, f"rbd --id rbd rm --no-progress rbd/{image}", timeout=600)
        with steady(lab, writer, stream, kind="image", rate=RATE, **job) as client:
            yield
        once(lab, reader, stream, kind="image-check", last=client.last, **job)


@contextlib.contextmanager
def s3(lab, writer, reader, stream):
    """Put objects by the store's address; another client reads them back."""
    kept = json.loads(lab.site_path.with_suffix(".objects.json").read_text())
    keys = kept["users"][USER]
    folder = f"avadm-load-{uuid.uuid4().hex[:8]}"
    job = {
        "endpoint": kept["endpoint"],
        "region": "default",
        "ca": CA,
        "keys": [keys["access_key"], keys["secret_key"]],
    }
    where = {"bucket": BUCKET, "folder": folder, "seed": folder, "size": SIZE}
    with contextlib.ExitStack() as stack:
        stack.callback(once, lab, reader, stream, kind="objects-clean", **job, **where)
        with steady(lab, writer, stream, kind="objects", every=EVERY_S, **job, **where):
            yield
        once(lab, reader, stream, kind="objects-check", written=numbers(stream), **job, **where)


def numbers(stream):
    """Return the numbers of what was acknowledged."""
    return [int(key) for key in stream.kept]

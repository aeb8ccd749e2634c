"""Data sets whose bytes lie elsewhere, in real pods: a block image's snapshot on several nodes at once, and what is cached."""

import json
import time
import uuid

import pytest

from ava.client import ApiError, Client
from tests.lab.ava.test_folders import until
from tests.lab.ava.user_journey import ENDED, SMALL

pytestmark = pytest.mark.lab

READS = """
import os, subprocess, time
folder = '/data/NAME'
print(open(folder + '/word').read().strip())
for what in (lambda: open(folder + '/new', 'w'), lambda: open(folder + '/word', 'a'), lambda: os.unlink(folder + '/word'),
             lambda: os.chmod(folder + '/word', 0o777), lambda: os.mknod(folder + '/made')):
    try: what(); print('WRITTEN')
    except OSError as error: print(error.strerror)
print([l.split()[3].split(',')[0] for l in open('/proc/mounts') if l.split()[1] == folder])
print(os.path.exists(folder + '/escape'), os.path.islink(folder + '/escape'))
try: print(len(os.pread(os.open(folder + '/disk', os.O_RDONLY), 512, 0)))
except OSError as error: print(type(error).__name__)
print(subprocess.run([folder + '/id', '-u'], capture_output=True, text=True).stdout.strip() == str(os.getuid()))
time.sleep(SECONDS)
"""
SEEN = ["hello", *["Read-only file system"] * 5, "['ro']", "False True", "PermissionError", "True"]
"""Nothing is written, a link leads nowhere, a device of a disk does not open, and a setuid program gives no rights."""


@pytest.fixture(scope="module")
def admin(platform, authority, day):
    client = Client(f"https://{platform.host}", ca=authority)
    client.login(platform.admin, platform.password)
    return client


@pytest.fixture(scope="module")
def rbd(lab):
    """Run `rbd` on a node of the lab that mounts images."""
    node = next(n for n in lab.names("worker") if n in lab.names("client"))
    return lambda command, tool="rbd --id rbd": lab.sh(node, f"{tool} {command}", 120)


@pytest.fixture(scope="module")
def image(rbd):
    """An administrator's image with a file, a link to a file of the node, and a snapshot; it is removed at the end."""
    name, made = f"faces-{uuid.uuid4().hex[:8]}", "/tmp/faces"
    rbd(
        f"-c 'rm -rf {made} && mkdir -p {made}/in && echo hello > {made}/in/word && "
        f"ln -s /etc/avadm/volumes/node.json {made}/in/escape && "
        f"cp /usr/bin/id {made}/in/id && chmod 4755 {made}/in/id && "
        f"truncate -s 64M {made}/image && mkfs.ext4 -q -d {made}/in {made}/image && "
        f'debugfs -w -R "mknod disk b 7 0" {made}/image && debugfs -w -R "sif disk mode 060666" {made}/image && '
        f"rbd --id rbd import --no-progress --image-format 2 {made}/image rbd/{name} && rm -rf {made}'",
        tool="sh",
    )
    rbd(f"snap create rbd/{name}@v1")
    yield name
    # What is made of it goes a moment after the data set.
    spec, again = f"rbd/{name}", "rbd --id rbd"
    gone = f"{again} snap purge --no-progress {spec} && {again} rm --no-progress {spec} && exit 0"
    rbd(f"-c 'for i in $(seq 60); do {gone}; sleep 1; done; exit 1'", tool="sh")


def info(rbd, image):
    return json.loads(rbd(f"info --format json rbd/{image}@v1"))


def refused(rbd, command):
    return rbd(f"{command} >/dev/null 2>&1 && echo done || echo refused").strip()


def test_a_snapshot_is_read_on_several_nodes_at_once_and_kept_as_long_as_it_is_named(
    day, admin, lab, rbd, image
):
    source = {"kind": "rbd", "image": image, "snapshot": "v1"}
    with pytest.raises(ApiError) as mine:
        day.user.make_data_set("mine", source)
    assert mine.value.problems[0].code == "not-allowed"
    began = time.monotonic()
    one = admin.make_data_set(f"set-{image}", source)
    try:
        reads_on_several_nodes(day, admin, lab, rbd, image, one, began)
    finally:
        for run in day.user.runs():
            if run.state not in ENDED:
                day.user.stop(run.id)
                day.until(run.id, *ENDED, seconds=120)
        admin.delete_data_set(one.id)
    until(lambda: info(rbd, image)["protected"] in (False, "false"), 120)


def reads_on_several_nodes(day, admin, lab, rbd, image, one, began):
    """Read a data set of an image's snapshot on a node with GPUs and on one without, and try to take it away meanwhile."""
    until(lambda: admin.data_set(one.id).elsewhere.ready or admin.data_set(one.id).elsewhere.trouble, 60)
    print(f"mountable after {time.monotonic() - began:.1f} s")
    assert admin.data_set(one.id).elsewhere.ready, admin.data_set(one.id).elsewhere.trouble
    admin.share_data_set(one.id, "group", day.group)
    program = READS.replace("NAME", one.id).replace("SECONDS", "30")
    runs = [
        day.start(
            f"reads-{gpu}", program, data_sets=[{"name": one.id}], roles=[{"each": SMALL | {"gpu": gpu}}]
        )
        for gpu in (0, 1)
    ]
    began = time.monotonic()
    for run in runs:
        day.until(run, "running", seconds=150)
    print(f"{len(runs)} nodes read it after {time.monotonic() - began:.1f} s")
    for run in runs:
        assert day.log(run, len(SEEN)) == SEEN
    assert len({day.user.pods(run)[0].node for run in runs}) == 2
    # ceph itself keeps it, anyone who asks.
    assert info(rbd, image)["protected"] in (True, "true")
    assert refused(rbd, f"snap unprotect rbd/{image}@v1") == "refused"
    assert refused(rbd, f"snap rm rbd/{image}@v1") == "refused"
    with pytest.raises(ApiError) as busy:
        admin.delete_data_set(one.id)
    assert busy.value.problems[0].code == "data-set-in-use"
    for run in runs:
        day.until(run, *ENDED, seconds=120)


def test_what_is_not_there_is_reported_and_its_runs_wait_with_the_reason(day, admin, image):
    source = {"kind": "rbd", "image": image, "snapshot": "v2"}
    one = admin.make_data_set(f"none-{image}", source)
    report = until(lambda: admin.data_set(one.id).elsewhere.trouble, 60)
    assert "has no snapshot v2" in report
    admin.share_data_set(one.id, "group", day.group)
    run = day.start("waits", "print(1)", data_sets=[{"name": one.id}], roles=[{"each": SMALL}])
    try:
        reasons = until(lambda: day.user.why(run).reasons, 20)
        assert "cannot be mounted yet" in reasons[0].what
        assert day.user.run(run).state == "queued"
    finally:
        day.user.stop(run)
        day.until(run, *ENDED)
    admin.delete_data_set(one.id)


def test_of_a_data_set_read_through_the_cache_it_is_shown_how_much_is_cached(day, admin, lab, platform):
    folder = f"faces-{uuid.uuid4().hex[:8]}"
    workers = lab.names("alluxio_worker")
    if not workers:
        pytest.skip("this lab has no cache")
    mount = "/mnt/alluxio"
    lab.sh(
        workers[0], f"mkdir {mount}/cephfs/{folder} && head -c 8M /dev/urandom > {mount}/cephfs/{folder}/a"
    )
    try:
        one = admin.make_data_set(folder, {"kind": "cache", "path": f"cephfs/{folder}"})
        seen = until(lambda: (e := admin.data_set(one.id).elsewhere) and (e.seen or e.trouble) and e, 60)
        assert seen.trouble == ""
        assert seen.size == 8 * 2**20
        assert seen.cached == seen.size, "what was written through the mount is cached"
        admin.share_data_set(one.id, "group", day.group)
        program = f"print(sum(len(open('/data/{one.id}/a', 'rb').read()) for _ in range(2)))"
        run = day.start("cached", program, data_sets=[{"name": one.id}], roles=[{"each": SMALL}])
        day.succeeded(run, seconds=150)
        assert day.log(run, 1) == [str(16 * 2**20)]
        admin.delete_data_set(one.id)
    finally:
        lab.sh(workers[0], f"rm -rf {mount}/cephfs/{folder}")

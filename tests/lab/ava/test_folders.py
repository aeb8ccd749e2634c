"""Homes, groups' folders and data sets in real pods on real cephfs: reached by their owners, limited, and by no one else."""

import base64
import json

import pytest

from ava.client import ApiError, Client
from tests.lab.ava.user_journey import ENDED, SMALL
from tests.lab.waiting import until

pytestmark = pytest.mark.lab
MIB = 2**20

SEEN = """
import json, os
def tried(what):
    try: return what()
    except OSError as error: return type(error).__name__ + ' ' + os.strerror(error.errno)
def put(path):
    with open(path, 'w') as file: file.write('x')
    about = os.stat(path)
    return [about.st_uid, about.st_gid]
group, home = '/groups/GROUP', os.environ['HOME']
print(json.dumps({
    'ids': [os.getuid(), sorted(os.getgroups())],
    'groups': os.listdir('/groups'),
    'home': put(home + '/mine'), 'group': put(group + '/ours'),
    'kept': os.path.exists(home + '/of-before'),
    'mode': oct(os.stat(group).st_mode & 0o7777),
    'up': tried(lambda: sorted(os.listdir(group + '/..'))),
    'root': tried(lambda: os.setuid(0)), 'give': tried(lambda: os.chown(group, os.getuid(), -1)),
    'mounts': [l.split()[3] for l in open('/proc/self/mountinfo') if 'ceph' in l],
}))
"""

FULL = """
import errno, os
LIMIT = 32 << 20
def fill(path, most):
    done = 0
    with open(path, 'wb', buffering=0) as file:
        try:
            while done < most:
                done += file.write(b'x' * (1 << 20)); os.fsync(file.fileno())
        except OSError as error:
            return done, errno.errorcode[error.errno]
    return done, 'whole'
group, home = '/groups/GROUP', os.environ['HOME']
# A hostile owner raises the limit of what is theirs: the one above it, which no pod sees, stays.
for path in (group, home):
    try: os.setxattr(path, 'ceph.quota.max_bytes', str(1 << 40).encode())
    except OSError: pass
import time
result = 'whole'
for number in range(40):
    done, result = fill(f'{group}/f{number}', 16 << 20)
    if result != 'whole': break
    time.sleep(0.3)
print('group', result, number * 16 <= 400)
print('home', fill(home + '/other', 4 << 20)[1])
for number in range(40):
    try: os.unlink(f'{group}/f{number}')
    except OSError: pass
os.unlink(home + '/other')
"""

READS = """
import os
name = 'NAME'
print(open(f'/data/{name}/a/hello').read())
for what in (lambda: open(f'/data/{name}/new', 'w'), lambda: os.unlink(f'/data/{name}/a/hello'),
             lambda: open(f'/data/{name}/a/hello', 'a')):
    try: what(); print('WRITTEN')
    except OSError as error: print(error.strerror)
import time; time.sleep(SECONDS)
"""


@pytest.fixture(scope="module")
def admin(platform, authority, day):
    client = Client(f"https://{platform.host}", ca=authority)
    client.login(platform.admin, platform.password)
    return client


def test_a_pod_has_its_owners_home_and_groups_and_nothing_else(day, admin):
    me, group = day.user.me(), next(g for g in day.user.groups() if g.name == day.group)
    assert until(lambda: day.user.home().made, 30) and until(
        lambda: day.user.group_folder(day.group).made, 30
    )
    first = day.start(
        "folders", "import os; open(os.environ['HOME'] + '/of-before', 'w')", roles=[{"each": SMALL}]
    )
    day.succeeded(first)
    run = day.start("folders2", SEEN.replace("GROUP", day.group), roles=[{"each": SMALL}])
    day.succeeded(run)
    seen = json.loads(day.log(run, 1)[0])
    assert seen["ids"][0] == me.uid and group.gid in seen["ids"][1]
    assert seen["groups"] == [day.group]
    assert seen["home"][0] == seen["group"][0] == me.uid
    assert (seen["group"][1], seen["mode"]) == (group.gid, "0o2770")
    assert seen["kept"], "the home of one run is the home of the next"
    assert day.group in seen["up"] and not {"users", "datasets", "vision"} & set(seen["up"]) - {day.group}
    assert "Operation not permitted" in seen["root"] and "not permitted" in seen["give"].lower()
    wanted = {f"/groups/{day.group}/data", f"/users/{me.name}/data"}
    assert {path for path in seen["mounts"] if path.startswith(("/groups", "/users", "/datasets"))} == wanted


@pytest.mark.core("cephfs")
def test_a_data_set_is_sent_shared_read_and_written_by_one(day, admin, tmp_path):
    one = day.user.make_data_set("digits")
    until(lambda: day.user.data_set(one.id).folder.made, 30)
    file = tmp_path / "hello"
    file.write_text("hello")
    day.user.upload(day.user.begin_upload(one.id, "a/hello", 5), file)
    assert [e.path for e in day.user.files(one.id, "a")] == ["a/hello"]
    program = READS.replace("NAME", "digits").replace("SECONDS", "6")
    reads = day.start("reads", program, data_sets=[{"name": "digits"}], roles=[{"each": SMALL}])
    day.until(reads, "running")
    writes = day.start(
        "writes",
        "open('/data/digits/made', 'w').write('x')",
        data_sets=[{"name": "digits", "write": True}],
        roles=[{"each": SMALL}],
    )
    with pytest.raises(ApiError) as busy:
        day.user.delete_data_set(one.id)
    assert busy.value.problems[0].code == "data-set-in-use"
    reasons = until(lambda: day.user.why(writes).reasons, 10)
    assert "is read by other runs" in reasons[0].what
    day.succeeded(reads)
    assert day.log(reads, 4) == ["hello", *["Read-only file system"] * 3]
    day.succeeded(writes)
    assert "made" in {e.name for e in day.user.files(one.id)}
    day.user.delete_data_set(one.id)
    with pytest.raises(ApiError):
        day.user.data_set(one.id)


def test_each_node_has_one_client_of_cephfs_however_many_pods_mount_it(day, lab):
    runs = [day.start(f"mounts{i}", "import time; time.sleep(5)", roles=[{"each": SMALL}]) for i in range(3)]
    for run in runs:
        day.until(run, "running", *ENDED)
    text = lab.sh(lab.names("mds")[0], "ceph tell mds.cephfs:0 session ls 2>/dev/null")
    hosts = [
        (s["client_metadata"].get("hostname"), s["client_metadata"].get("entity_id"))
        for s in json.loads(text)
        if s["client_metadata"].get("entity_id") == "cephfs"
    ]
    assert sorted(hosts) == [(name, "cephfs") for name in sorted(lab.names("client"))]
    for run in runs:
        day.until(run, *ENDED)


@pytest.mark.slow
def test_a_write_over_the_limit_fails_and_nothing_else_does(day, admin):
    quota = {"gpu": 4, "cpu": 4000, "memory": 4 * 2**30}
    admin.set_quota(day.group, {**quota, "storage": 32 * MIB})
    try:
        until(lambda: day.user.group_folder(day.group).quota == 32 * MIB, 60)
        run = day.start("full", FULL.replace("GROUP", day.group), roles=[{"each": SMALL}])
        day.succeeded(run, seconds=180)
        assert day.log(run, 2) == ["group EDQUOT True", "home whole"]
    finally:
        admin.set_quota(day.group, {**quota, "storage": None})


@pytest.mark.slow
def test_who_has_left_a_group_gets_its_folder_in_no_further_run(day, admin):
    name = f"{day.group[:20]}-x"
    admin.make_group(name, {"gpu": 0, "cpu": 1000, "memory": 2**30})
    admin.add_member(name, day.user.me().name)
    program = "import os; print(sorted(os.listdir('/groups')), os.getgroups())"
    try:
        until(lambda: day.user.group_folder(name).made, 30)
        gid = next(g.gid for g in day.user.groups() if g.name == name)
        run = day.start("member", program, roles=[{"each": SMALL}])
        day.succeeded(run)
        (line,) = day.log(run, 1)
        assert name in line and str(gid) in line
    finally:
        admin.remove_member(name, day.user.me().name)
    run = day.start("left", program, roles=[{"each": SMALL}])
    day.succeeded(run)
    (line,) = day.log(run, 1)
    assert name not in line and str(gid) not in line
    admin.delete_group(name)


@pytest.mark.slow
def test_an_upload_goes_on_after_the_death_of_who_takes_it(day, lab, platform, tmp_path):
    one = day.user.make_data_set("large")
    until(lambda: day.user.data_set(one.id).folder.made, 30)
    file = tmp_path / "large"
    content = base64.b64encode(bytes(48 * MIB))
    file.write_bytes(content)
    where = day.user.begin_upload(one.id, "large", len(content))
    killed = []

    def progress(done):
        if done and not killed:
            killed.append(done)
            lab.sh(platform.master, "kubectl delete pods -n ava-system -l part=storage --grace-period=1")
            until(lambda: "0" not in ready(lab, platform), 90)

    import ava.client.data_sets as sending

    before, sending.PIECE = sending.PIECE, 16 * MIB
    try:
        day.user.upload(where, file, progress=progress)
    finally:
        sending.PIECE = before
    got = tmp_path / "got"
    with got.open("wb") as opened:
        day.user.download(one.id, "large", opened)
    assert killed and got.read_bytes() == content
    day.user.delete_data_set(one.id)


def ready(lab, platform):
    return (
        lab.sh(
            platform.master,
            "kubectl get deployment -n ava-system storage -o jsonpath={.status.availableReplicas}+0",
        ).split("+")[0]
        or "0"
    )

"""avadm-etcd-copy: what it brings to the object store, what it keeps there, and what it tells, with a store of the test's own."""

import hashlib
import json
import sys

import pytest

from tests.unit.fakes.roles import ROLES, given, read, written
from tests.unit.fakes.running import sh
from tests.unit.roles.test_kube_units import rendered

SOURCE = ROLES / "etcd/files/avadm-etcd-copy"
NAMES = [f"2026112{day}T000000Z.db" for day in range(1, 5)]
AT = [1795219200 + 86400 * day for day in range(4)]
BOTO = """
import hashlib, json, os, shutil
ROOT = os.environ["BUCKET"]
class Client:
    def get_paginator(self, what): return self
    def paginate(self, Bucket, Prefix):
        assert Bucket == "copies", Bucket
        found = [os.path.relpath(os.path.join(at, n), ROOT) for at, _, names in os.walk(ROOT) for n in names]
        rows = [{"Key": k, "Size": os.path.getsize(os.path.join(ROOT, k))} for k in found if k.startswith(Prefix)]
        return [{"Contents": rows}] if rows else [{}]
    def list_multipart_uploads(self, Bucket, Prefix): return {"Uploads": [{"Key": Prefix + "x", "UploadId": "u"}]}
    def abort_multipart_upload(self, Bucket, Key, UploadId): print("cleared", Key)
    def upload_file(self, path, bucket, key, ExtraArgs, Config):
        assert os.environ["AWS_REQUEST_CHECKSUM_CALCULATION"] == "when_required"
        print("put", key)
        if os.environ.get("FULL"): raise OSError("QuotaExceeded")
        os.makedirs(os.path.dirname(os.path.join(ROOT, key)), exist_ok=True)
        shutil.copy(path, os.path.join(ROOT, key))
        if os.environ.get("LOSES"): open(os.path.join(ROOT, key), "w").close()
        Client.sent = ExtraArgs["Metadata"]
    def head_object(self, Bucket, Key):
        return {"ContentLength": os.path.getsize(os.path.join(ROOT, Key)), "Metadata": self.sent}
    def delete_object(self, Bucket, Key): os.remove(os.path.join(ROOT, Key))
    def download_file(self, bucket, key, path): shutil.copyfile(os.path.join(ROOT, key), path)
def client(kind, endpoint_url, verify, config, **keys):
    assert keys["aws_secret_access_key"] == "S"
    if not os.path.isdir(ROOT): raise OSError("does not answer")
    return Client()
"""


def content(name, data=b"etcd"):
    body = data * 1000 + name.encode()
    return body + hashlib.sha256(body).digest()


class Room:
    """A node with snapshots, and a bucket."""

    def __init__(self, root):
        self.root, self.bucket = root, root / "bucket"
        self.folder, self.metrics = root / "snapshots", root / "metrics"
        for made in (self.bucket, self.folder, self.metrics, root / "lib/boto3/s3", root / "lib/botocore"):
            made.mkdir(parents=True)
        (root / "lib/boto3/__init__.py").write_text(BOTO)
        (root / "lib/boto3/s3/__init__.py").touch()
        (root / "lib/boto3/s3/transfer.py").write_text("TransferConfig = dict\n")
        (root / "lib/botocore/__init__.py").touch()
        (root / "lib/botocore/config.py").write_text("Config = dict\n")
        keys = {"endpoint": "https://o", "region": "r", "bucket": "copies", "ca": "/ca"}
        (root / "store.json").write_text(json.dumps({**keys, "access_key": "A", "secret_key": "S"}))

    def here(self, *names):
        for name in names:
            (self.folder / name).write_bytes(content(name))

    def there(self):
        return sorted(str(p.relative_to(self.bucket)) for p in self.bucket.rglob("*") if p.is_file())

    def run(self, *words, **more):
        env = {"PYTHONPATH": str(self.root / "lib"), "BUCKET": str(self.bucket), **more}
        env["AVADM_ETCD_STORE"] = str(self.root / "store.json")
        asked = words or ("put", "k1", str(self.folder), "3", str(self.metrics))
        return sh(sys.executable, SOURCE, *asked, env=env)

    def copy_metrics(self):
        """Return when the newest copy was taken, and whether something failed."""
        lines = (self.metrics / "avadm-etcd-copy.prom").read_text().splitlines()
        assert [p.name for p in self.metrics.iterdir()] == ["avadm-etcd-copy.prom"]
        return tuple(int(line.split()[1]) for line in lines if not line.startswith("#"))


def brought(done):
    """Return the keys of what was brought, in the order of bringing."""
    return [line.split()[1] for line in done.stdout.splitlines() if line.startswith("put")]


@pytest.fixture
def room(tmp_path):
    return Room(tmp_path)


def test_what_is_missing_is_brought_the_newest_first_and_the_old_go(room):
    room.here(*NAMES[:3])
    (room.folder / ".new.7").write_text("half")
    done = room.run()
    assert done.returncode == 0, done.stderr
    assert brought(done) == [f"k1/{name}" for name in reversed(NAMES[:3])]
    assert "cleared k1/x" in done.stdout
    (room.bucket / "k2").mkdir()
    (room.bucket / "k2" / NAMES[0]).write_bytes(b"another member's")
    (room.folder / NAMES[0]).unlink()
    room.here(NAMES[3])
    assert brought(room.run()) == [f"k1/{NAMES[3]}"]
    assert room.there() == [*(f"k1/{name}" for name in NAMES[1:]), f"k2/{NAMES[0]}"]
    assert room.copy_metrics() == (AT[3], 0)


def test_a_store_that_does_not_answer_is_reported_and_the_copies_are_only_late(room):
    room.here(*NAMES[:2])
    room.bucket.rmdir()
    for _ in range(2):
        done = room.run()
        assert (done.returncode, room.copy_metrics()) == (1, (AT[0], 1)), (
            "none there: as old as the oldest here"
        )
        assert "OSError: does not answer" in done.stderr
        assert "Remedy" in done.stderr
    room.bucket.mkdir()
    assert room.run().returncode == 0
    assert room.copy_metrics() == (AT[1], 0)
    room.here(NAMES[2])
    room.bucket.rename(room.root / "away")
    assert room.run().returncode == 1
    assert room.copy_metrics() == (AT[1], 1)


def test_one_that_is_not_whole_is_not_brought_and_hides_no_other(room):
    room.here(*NAMES[:3])
    (room.folder / NAMES[2]).write_bytes(content(NAMES[2])[:-1] + b"x")
    (room.folder / NAMES[1]).write_bytes(b"")
    done = room.run()
    assert (done.returncode, room.there(), room.copy_metrics()) == (1, [f"k1/{NAMES[0]}"], (AT[0], 1))
    assert f"{NAMES[2]} is no whole snapshot" in done.stderr


@pytest.mark.parametrize("wrong", [{"FULL": "1"}, {"LOSES": "1"}])
def test_where_none_can_be_brought_none_is_removed_and_none_is_called_there(room, wrong):
    room.here(*NAMES[:3])
    assert room.run().returncode == 0
    (room.folder / NAMES[0]).unlink()
    room.here(NAMES[3])
    done = room.run(**wrong)
    assert (done.returncode, room.copy_metrics()) == (1, (AT[2], 1))
    assert set(room.there()) >= {f"k1/{name}" for name in NAMES[:3]}


def test_one_that_was_cut_short_in_the_store_is_brought_again(room):
    room.here(*NAMES[:2])
    (room.bucket / "k1").mkdir()
    (room.bucket / "k1" / NAMES[1]).write_bytes(b"short")
    assert room.run().returncode == 0
    assert (room.bucket / "k1" / NAMES[1]).read_bytes() == content(NAMES[1])


def test_a_copy_is_fetched_whole_or_not_at_all_and_over_nothing(room):
    room.here(NAMES[0])
    room.run()
    out = room.root / "got.db"
    assert f"k1/{NAMES[0]}" in room.run("list").stdout
    assert room.run("fetch", f"k1/{NAMES[0]}", str(out)).returncode == 0
    assert out.read_bytes() == content(NAMES[0])
    assert out.stat().st_mode & 0o777 == 0o600
    assert "is there already" in room.run("fetch", f"k1/{NAMES[0]}", str(out)).stderr
    (room.bucket / "k1" / NAMES[0]).write_bytes(b"rotten" * 20)
    out.unlink()
    done = room.run("fetch", f"k1/{NAMES[0]}", str(out))
    assert done.returncode == 1
    assert "no whole snapshot" in done.stderr
    assert not list(room.root.glob("got.db*"))


@pytest.mark.parametrize("what", ["settings", "library", "metrics"])
def test_without_settings_library_or_exporter_nothing_is_hidden(room, what):
    room.here(NAMES[0])
    if what == "settings":
        (room.root / "store.json").unlink()
    elif what == "library":
        (room.root / "lib/boto3/__init__.py").write_text("raise ImportError('no boto3')\n")
    else:
        room.metrics.rmdir()
        assert room.run().returncode == 0
        return
    assert room.run().returncode == 1
    assert room.copy_metrics() == (AT[0], 1)


def store_files(**more):
    """Return path to file of what the role writes of the store; nothing that runs is restarted for it."""
    have = given("etcd") | {"inventory_hostname": "n1", "_etcd_peers": {"trusted": "PEM"}} | more
    made = {path: one for path, one in written(have["_etcd_files"], **have).items() if "/store." in path}
    assert all(one["on_change"] == "none" for one in made.values())
    return made


KEYS = {"endpoint": "https://o", "access_key": "A", "secret_key": "S"}


@pytest.mark.parametrize("store", [KEYS, {}])
def test_a_copy_that_fails_or_hangs_does_not_fail_or_hold_up_the_snapshots(store):
    """The unit's second command may fail, and ends by itself; a site without a store has none, and no keys left."""
    have = read("etcd", "vars/main.yml")
    text = rendered("etcd", have["_etcd_snapshot_service"], etcd_store=store)
    after = [line for line in text.splitlines() if line.startswith("ExecStartPost=")]
    files = store_files(etcd_store=store)
    settings = files["/etc/avadm/etcd/store.json"]
    if store:
        (line,) = after
        assert line.startswith(
            "ExecStartPost=-/usr/bin/timeout -k 1m 30m /usr/local/sbin/avadm-etcd-copy put n1 "
        )
        assert line.endswith("/var/lib/etcd/snapshots 48 /var/lib/prometheus/node-exporter")
        assert settings["mode"] == "0600"
    else:
        assert after == []
        assert settings["state"] == "absent"


@pytest.mark.parametrize(
    ("certificate", "state", "asked"),
    [
        ("PEM", "present", "/etc/avadm/etcd/store.crt"),
        # Of a store that others run: the authorities that the system trusts.
        ("", "absent", "/etc/ssl/certs/ca-certificates.crt"),
    ],
)
def test_the_store_is_known_by_its_authority_or_by_one_of_the_systems(certificate, state, asked):
    given = {"etcd_store": KEYS, "etcd_store_ca_certificate": certificate}
    files = store_files(**given)
    assert {path: one.get("state", "present") for path, one in files.items()} == {
        "/etc/avadm/etcd/store.crt": state,
        "/etc/avadm/etcd/store.json": "present",
    }
    assert json.loads(files["/etc/avadm/etcd/store.json"]["secret"]) == {**KEYS, "ca": asked}

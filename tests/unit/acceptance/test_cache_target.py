"""What of a site's cache acceptance may change behind its back."""

from pathlib import Path
from typing import ClassVar

import pytest
import yaml

from avadm.components.objects.variables import key_names
from avadm.site.load import load
from avadm_acceptance import cache_target

STORE = {"users": [{"name": "own-er"}], "buckets": [{"name": "sets", "owner": "own-er"}]}
KEYS = dict(zip(key_names("own-er"), ("ACCESS", "SECRET"), strict=True))
OTHER = {"bucket": "sets", "endpoint": "https://s3.other.test", "secret": "other"}


class Held:
    """A vault that holds some secrets."""

    held: ClassVar[dict[str, str]] = {}

    @classmethod
    def open(cls, path):
        return cls()

    def read(self):
        return self.held


@pytest.fixture
def target(tmp_path: Path, monkeypatch):
    def made(s3, held):
        ceph = ["mon", "mgr", "mds", "osd", "rgw"]
        served = ["client", "worker", "alluxio_master", "alluxio_worker"]
        nodes = [
            {"name": "s1", "address": "10.0.0.9", "roles": ceph, "devices": [{"serial": "S"}]},
            {"name": "s2", "address": "10.0.0.8", "roles": ["osd"], "devices": [{"serial": "T"}]},
            {"name": "m1", "address": "10.0.0.11", "roles": ["etcd", "master"]},
            {"name": "w1", "address": "10.0.0.21", "roles": served},
        ]
        mounts = [{"path": "/cephfs", "cephfs": "/data"}, {"path": "/s3", "s3": s3}]
        data = {
            "name": "demo",
            "profile": "lab-bookworm",
            "network": {"management": "10.0.0.0/24", "domain": "demo.test", "api_vip": "10.0.0.250"},
            "nodes": nodes,
            "components": {"alluxio": {"mounts": mounts}, "object_store": STORE},
        }
        path = tmp_path / "demo.yml"
        path.write_text(yaml.safe_dump(data))
        monkeypatch.setattr(Held, "held", held)
        monkeypatch.setattr(cache_target, "Vault", Held)
        cephfs, bucket = cache_target.cache_target(load(path)).stores
        assert cephfs.bucket is None
        assert (bucket.folder, bucket.writers) == ("", ())
        return bucket

    return made


@pytest.mark.parametrize(("folder", "prefix"), [("", ""), ("a/b", "a/b/")])
def test_a_bucket_of_the_sites_own_is_written_to_with_its_owners_keys(target, folder, prefix):
    bucket = target({"bucket": "sets", "folder": folder}, KEYS).bucket
    assert (bucket.name, bucket.prefix, bucket.keys) == ("sets", prefix, ("ACCESS", "SECRET"))
    assert "SECRET" not in repr(bucket)


@pytest.mark.parametrize(("s3", "held"), [(OTHER, KEYS), ({"bucket": "sets"}, {})], ids=["theirs", "no-keys"])
def test_another_store_or_one_without_keys_is_not_written_to(target, s3, held):
    assert target(s3, held).bucket is None

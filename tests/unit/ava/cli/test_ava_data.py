"""`ava data create` and `show` for data sets from elsewhere: what is not there is stated at once, and how much is cached."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ava.domain.data_sets import ExternalSource
from tests.unit.ava.api.site import GIB, NOW, WORD
from tests.unit.ava.cli.test_ava_cli import Run, ava  # noqa: F401 - a fixture
from tests.unit.ava.served import Served


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path, config={"snapshots": True, "nfs_servers": ["nfs.test"], "hdfs_stores": ["big"]})
    yield made
    made.close()


@pytest.fixture
def admin(ava: Run, served: Served) -> Run:  # noqa: F811
    assert ava("--server", served.url, "login", "-u", "root2", stdin=f"{WORD}\n").code == 0
    return ava


def later(served: Served, **seen: str) -> None:
    """Have something be known of the one data set a moment after it was made."""

    def look() -> None:
        end = time.monotonic() + 10
        while not (found := served.db.data_sets.list().items) and time.monotonic() < end:
            time.sleep(0.05)
        served.db.external_sources.record(ExternalSource(found[0].id, **seen))  # type: ignore[arg-type]

    threading.Thread(target=look, daemon=True).start()


def test_a_snapshot_is_waited_for_until_nodes_can_mount_it(admin: Run, served: Served) -> None:
    later(served, volume="pvc-1")
    answer = admin("data", "create", "faces", "--rbd", "faces@v1")
    (one,) = served.db.data_sets.list().items
    assert (answer.code, answer.out.strip()) == (0, one.id)
    assert one.source == {"kind": "rbd", "image": "faces", "snapshot": "v1"}
    shown = admin("data", "show", "faces").out
    assert "snapshot faces@v1" in shown
    assert "available:    yes" in shown


def test_one_that_is_not_there_ends_with_the_reason(admin: Run, served: Served) -> None:
    later(served, trouble="the image rbd/faces has no snapshot v2")
    answer = admin("data", "create", "faces", "--rbd", "faces@v2")
    assert answer.code != 0
    assert "has no snapshot v2" in answer.err
    assert "has no snapshot v2" in admin("data", "show", "faces").err


def test_no_one_waits_longer_than_is_shown(admin: Run) -> None:
    answer = admin("data", "create", "faces", "--rbd", "faces@v1", "--wait", "0")
    assert answer.code != 0
    assert "not yet" in answer.err


def test_how_much_is_cached_is_shown_with_its_age(admin: Run, served: Served) -> None:
    assert admin("data", "create", "faces", "--cache", "s3/faces").code == 0
    assert "not measured yet" in admin("data", "show", "faces").out
    (one,) = served.db.data_sets.list().items
    served.db.external_sources.record(ExternalSource(one.id, size=4 * 2**20, cached=3 * 2**20, seen=NOW))
    assert "75 % (3 MiB of 4 MiB)" in admin("data", "show", "faces").out


def test_a_servers_folder_is_named_as_mount_names_it(admin: Run) -> None:
    assert admin("data", "create", "old", "--nfs", "nfs.test:/export").code == 0
    assert "NFS nfs.test:/export" in admin("data", "show", "old").out
    refused = admin("data", "create", "other", "--nfs", "other.test:/export")
    assert refused.code != 0 and "nfs_servers" in refused.err


def test_a_folder_of_an_hdfs_is_named_below_what_the_site_calls_it(admin: Run, served: Served) -> None:
    assert admin("data", "create", "faces", "--hdfs", "big/sets/faces").code == 0
    assert admin("data", "create", "all", "--hdfs", "big").code == 0
    assert "HDFS big/sets/faces" in admin("data", "show", "faces").out
    assert "HDFS big\n" in admin("data", "show", "all").out
    ids = {one.name: one.id for one in served.db.data_sets.list().items}
    served.db.external_sources.record(ExternalSource(ids["faces"], size=4, cached=2, seen=NOW))
    assert "50 %" in admin("data", "show", "faces").out
    refused = admin("data", "create", "other", "--hdfs", "other/sets")
    assert refused.code != 0 and "mounts of alluxio" in refused.err


def test_a_data_set_has_one_source(admin: Run) -> None:
    answer = admin("data", "create", "x", "--rbd", "a@b", "--nfs", "nfs.test:/a")
    assert (answer.code, "exclude each other" in answer.err) == (2, True)


def test_a_data_set_is_made_with_a_limit_and_the_sum_is_shown(admin: Run, served: Served) -> None:
    config = served.services.config
    served.services.config = config.model_copy(update={"data_set_quota": 4 * GIB, "owner_quota": 10 * GIB})
    assert admin("data", "create", "small", "--limit", "7GiB").code == 0
    assert served.db.data_sets.list().items[0].quota == 7 * GIB
    refused = admin("data", "create", "more")
    assert refused.code != 0 and "All data sets of root2 may have 10 GiB together." in refused.err
    assert "data sets: 7 GiB of 10 GiB by their limits" in admin("storage", "show", "home").out
    assert admin("data", "create", "nfs", "--nfs", "nfs.test:/x", "--limit", "1GiB").code == 2

import io
import tarfile
from pathlib import Path
from typing import get_args

import pytest

from avadm.site import profile
from avadm_lab.docker import image
from avadm_lab.docker.client import Docker
from avadm_lab.layout import Config
from tests.unit.fakes.errors import refused
from tests.unit.lab.fakes import FakeProc, Reporter


def builds(proc):
    def build(argv):
        Path(next(word for word in argv if word.endswith(".part.tar"))).write_text("tar")
        return 0, "", ""

    proc.call("^mmdebstrap", build)
    proc.on("docker image inspect", rc=1)


def ensure(proc, store, proxy=None, release="bookworm"):
    return image.ensure(Docker(proc), proc, store, proxy, Reporter(), release)


def test_an_image_in_the_engine_is_used(tmp_path):
    proc = FakeProc()
    assert ensure(proc, tmp_path) == image.tag("bookworm")
    assert not proc.ran("mmdebstrap|import")


def test_built_imported_and_kept(tmp_path):
    proc = FakeProc()
    builds(proc)
    ensure(proc, tmp_path)
    ensure(proc, tmp_path)
    assert len(proc.ran("mmdebstrap")) == 1
    assert len(proc.ran("docker import")) == 2
    assert [p.name for p in tmp_path.iterdir()] == [f"node-{image.digest('bookworm')}.tar"]


def test_a_failed_build_leaves_nothing_behind(tmp_path):
    proc = FakeProc()
    builds(proc)
    proc.on("^mmdebstrap", rc=25, stderr="E: unable to download")
    assert "unable to download" in refused(ensure, proc, tmp_path)[0].found
    assert list(tmp_path.iterdir()) == []


def test_another_recipe_is_another_image(monkeypatch, tmp_path):
    before = image.tag("bookworm")
    monkeypatch.setattr(image, "PACKAGES", image.PACKAGES + ",vim")
    assert image.tag("bookworm") != before
    (tmp_path / "node-000000000000.tar").write_text("old")
    proc = FakeProc()
    builds(proc)
    ensure(proc, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [f"node-{image.digest('bookworm')}.tar"]


def test_each_release_has_an_image_and_neither_build_removes_the_others(tmp_path):
    proc = FakeProc()
    builds(proc)
    names = {ensure(proc, tmp_path, release=release) for release in image.ICU}
    assert len(names) == len(image.ICU) == len(list(tmp_path.iterdir()))
    assert len(proc.ran("mmdebstrap")) == len(image.ICU)


def test_every_release_that_can_be_asked_for_has_an_image_and_a_profile():
    releases = get_args(Config.model_fields["release"].annotation)
    assert set(releases) == set(image.ICU)
    for release in releases:
        loaded = profile.load(f"lab-{release}")
        assert loaded.os["distribution"] == "Debian"


def test_overlay_is_the_same_each_time_and_holds_no_policy():
    assert image.overlay() == image.overlay()
    with tarfile.open(fileobj=io.BytesIO(image.overlay())) as tar:
        assert "etc/dpkg/dpkg.cfg.d/avadm-lab" in tar.getnames()
        assert not any("policy-rc.d" in n for n in tar.getnames())


@pytest.mark.parametrize("package", ["chrony", "ceph-common", "fio", "prometheus", "policy-rcd-declarative"])
def test_image_has_nothing_that_roles_install(package):
    assert package not in image.PACKAGES.split(",")

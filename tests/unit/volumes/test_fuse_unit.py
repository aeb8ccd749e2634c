"""The unit that shows an image with rbd-fuse: one that died does not stand in the way of the next, and is not left behind."""

from pathlib import Path

import pytest

from tests.unit.volumes.image_fakes import maps


class Systemd:
    """systemd 229 with one unit: a failed one stays, and refuses another of its name, until it is reset."""

    def __init__(self):
        self.state, self.ran = "", []

    def run(self, argv, seconds=60):
        self.ran.append(argv[0])
        if argv[0] == "systemd-run":
            assert "--collect" not in argv, "known from systemd 236 on"
            if self.state:
                return 1, "", "Unit avadm-image-pvc-1.service already exists."
            self.state = "active"
            Path(argv[-1], argv[-2]).touch()
        elif argv[:2] == ["systemctl", "reset-failed"]:
            if self.state != "failed":
                return 1, "", "Unit avadm-image-pvc-1.service not loaded."
            self.state = ""
        elif argv[:2] == ["systemctl", "is-active"]:
            return (0 if self.state == "active" else 3), "", ""
        return 0, "", ""


@pytest.fixture
def systemd(monkeypatch, tmp_path):
    monkeypatch.setattr(maps, "RUN", str(tmp_path))
    monkeypatch.setattr(maps.os.path, "ismount", lambda path: True)
    monkeypatch.setattr(maps, "is_mounted", lambda path: False)
    return Systemd()


@pytest.fixture
def images(systemd):
    config = {"pool": "rbd", "entity": "client.rbd", "mapper": "rbd-fuse", "node": "w1"}
    return maps.Images(config, systemd.run)


def test_an_image_is_mapped_where_its_last_unit_died(images, systemd, tmp_path):
    systemd.state = "failed"
    assert images.map("pvc-1") == f"{tmp_path}/pvc-1.image/pvc-1"
    assert systemd.state == "active"


def test_a_unit_that_died_is_gone_with_its_image(images, systemd, tmp_path):
    images.map("pvc-1")
    Path(tmp_path, "pvc-1.image/pvc-1").unlink()
    systemd.state = "failed"
    images.unmap("pvc-1")
    assert systemd.state == ""
    assert not list(tmp_path.iterdir())

"""Nothing but a proven blank image is ever formatted, and a probe that fails proves nothing (K1)."""

import hashlib
import shutil
import subprocess

import pytest

from avadm.node_bundle import modules
from tests.unit.volumes.volume_fakes import FILES, load

form = load("format")
common = load("common")
MIB = 1 << 20
TOOLS = ("mkfs.ext4", "debugfs", "wipefs", "blkid")
pytestmark = pytest.mark.skipif(not all(map(shutil.which, TOOLS)), reason="needs e2fsprogs and util-linux")


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def image(tmp_path):
    path = tmp_path / "image"
    with path.open("wb") as out:
        out.truncate(16 * MIB)
    return path


def test_a_blank_image_gets_ext4_that_all_users_may_write_to(image):
    form.make_filesystem(str(image))
    report = subprocess.run(
        ["blkid", "-p", "-o", "export", image], capture_output=True, text=True, check=True
    )
    assert "TYPE=ext4" in report.stdout
    mode = subprocess.run(["debugfs", "-R", "stat /", image], capture_output=True, text=True, check=True)
    assert "Mode:  0777" in mode.stdout


def test_a_second_time_is_refused_and_the_data_stay(image):
    form.make_filesystem(str(image))
    before = digest(image)
    with pytest.raises(form.VolumeError, match=r"not proven blank.*ext.*nothing was written"):
        form.make_filesystem(str(image))
    assert digest(image) == before


@pytest.mark.parametrize("at", [0, 5 * MIB, 16 * MIB - 1])
def test_a_single_byte_is_enough_to_refuse(image, at):
    with image.open("r+b") as out:
        out.seek(at)
        out.write(b"x")
    before = digest(image)
    with pytest.raises(form.VolumeError, match="has data at byte"):
        form.make_filesystem(str(image))
    assert digest(image) == before


PROBES = {
    "blkid ends with an error": ("blkid", (4, "", "")),
    "blkid finds nothing, but complains": ("blkid", (2, "", "unexpected version of librbd")),
    "blkid does not end": ("blkid", (124, "", "blkid did not end within 120 s")),
    "blkid is not there": ("blkid", (127, "", "blkid: No such file or directory")),
    "wipefs ends with an error": ("wipefs", (1, "", "probing initialization failed")),
    "wipefs does not end": ("wipefs", (124, "", "wipefs did not end within 120 s")),
}


@pytest.mark.parametrize("fault", PROBES, ids=lambda name: name.replace(" ", "-"))
def test_a_probe_that_fails_is_a_refusal(image, fault):
    program, answer = PROBES[fault]
    ran = []

    def run(argv, seconds):
        ran.append(argv[0])
        return answer if argv[0] == program else common.run(argv, seconds)

    with pytest.raises(form.VolumeError, match=f"{program} could not tell"):
        form.make_filesystem(str(image), run)
    assert "mkfs.ext4" not in ran
    assert not any(image.read_bytes())


def test_an_image_that_cannot_be_read_is_refused(image, monkeypatch):
    def broken(handle, offset, length):
        raise form.blank.content.ContentError("read error at byte 0: Input/output error")

    monkeypatch.setattr(form.blank.content, "read_at", broken)
    with pytest.raises(form.VolumeError, match="Input/output error"):
        form.make_filesystem(str(image))
    with pytest.raises(form.VolumeError, match="cannot be opened"):
        form.make_filesystem(str(image) + ".gone")


@pytest.mark.parametrize("name", ["driver", "map", "common"])
def test_what_mounts_for_pods_cannot_format(name):
    text = (FILES / f"{name}.py").read_text()
    assert "mkfs" not in text
    assert "avadm_node.agents.volumes.format" not in modules(f"avadm_node.agents.volumes.{name}")

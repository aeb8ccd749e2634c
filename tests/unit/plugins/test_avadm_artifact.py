"""Large files: what is there is left alone, what arrives is checked before it takes another's place."""

import hashlib
import stat
from pathlib import Path

import avadm_artifact as module
import pytest

NEW = b"new bytes"
DIGEST = hashlib.sha256(NEW).hexdigest()


@pytest.fixture(autouse=True)
def _no_owners(monkeypatch):
    monkeypatch.setattr(module.os, "chown", lambda *a: None)


@pytest.fixture
def one(tmp_path):
    return {
        "artifact": {"path": "/cache/prog", "sha256": DIGEST},
        "path": str(tmp_path / "bin/prog"),
        "mode": "0755",
    }


@pytest.fixture
def incoming(tmp_path):
    return str(tmp_path / "incoming")


def pushed(incoming, body=NEW):
    (Path(incoming) / DIGEST).write_bytes(body)


def test_what_is_missing_is_named_with_the_place_to_push_it(one, incoming):
    assert module.ensure([one], [], "root", False, incoming) == (False, {one["path"]: f"{incoming}/{DIGEST}"})
    assert stat.S_IMODE(Path(incoming).stat().st_mode) == 0o700


def test_what_was_pushed_is_put_in_its_place_and_then_left_alone(one, incoming):
    module.ensure([one], [], "root", False, incoming)
    pushed(incoming)
    assert module.ensure([one], [one["path"]], "root", False, incoming) == (True, {})
    assert Path(one["path"]).read_bytes() == NEW
    assert stat.S_IMODE(Path(one["path"]).stat().st_mode) == 0o755
    assert not Path(incoming).exists()
    assert module.ensure([one], [], "root", False, incoming) == (False, {})


def test_what_did_not_arrive_whole_takes_nobodys_place(one, incoming):
    Path(one["path"]).parent.mkdir()
    Path(one["path"]).write_bytes(b"old")
    module.ensure([one], [], "root", False, incoming)
    pushed(incoming, NEW[:-1])
    with pytest.raises(module.ArtifactError, match="did not arrive whole"):
        module.ensure([one], [one["path"]], "root", False, incoming)
    assert Path(one["path"]).read_bytes() == b"old"


def test_a_file_that_never_came_is_said(one, incoming):
    module.ensure([one], [], "root", False, incoming)
    with pytest.raises(module.ArtifactError, match="sha256 of no file"):
        module.ensure([one], [one["path"]], "root", False, incoming)


def test_other_bytes_of_the_same_length_are_missing(one, incoming):
    Path(one["path"]).parent.mkdir()
    Path(one["path"]).write_bytes(b"old bytes")
    assert list(module.ensure([one], [], "root", False, incoming)[1]) == [one["path"]]


def test_another_mode_is_mended_without_a_push(one, incoming):
    Path(one["path"]).parent.mkdir()
    Path(one["path"]).write_bytes(NEW)
    Path(one["path"]).chmod(0o644)
    assert module.ensure([one], [], "root", True, incoming) == (True, {})
    assert stat.S_IMODE(Path(one["path"]).stat().st_mode) == 0o644
    assert module.ensure([one], [], "root", False, incoming) == (True, {})
    assert stat.S_IMODE(Path(one["path"]).stat().st_mode) == 0o755


def test_a_dry_run_makes_nothing(one, incoming):
    assert list(module.ensure([one], [], "root", True, incoming)[1]) == [one["path"]]
    assert not Path(incoming).exists()


def test_phases_that_run_at_once_push_to_folders_of_their_own(one):
    other = one | {"path": "/usr/local/bin/other"}
    assert module.folder_of([one]) != module.folder_of([other])

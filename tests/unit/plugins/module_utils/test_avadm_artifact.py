"""Large files: what is there is left alone, what arrives is checked before it takes another's place."""

import hashlib
import os
import stat
from pathlib import Path

import pytest
from ansible.module_utils import avadm_artifact as module

NEW = b"new bytes"
DIGEST = hashlib.sha256(NEW).hexdigest()


@pytest.fixture(autouse=True)
def _no_owners(monkeypatch):
    monkeypatch.setattr(module.os, "chown", lambda *a: None)


@pytest.fixture
def one(tmp_path):
    artifact = {"path": "/cache/prog", "sha256": DIGEST}
    return {"artifact": artifact, "path": str(tmp_path / "bin/prog"), "mode": "0755"}


@pytest.fixture
def incoming(tmp_path):
    return str(tmp_path / "incoming")


def there(one, body, mode=0o644):
    """Have other bytes, or another mode, at the file's place."""
    Path(one["path"]).parent.mkdir()
    Path(one["path"]).write_bytes(body)
    Path(one["path"]).chmod(mode)


def mode(one):
    return stat.S_IMODE(Path(one["path"]).stat().st_mode)


def ensure(one, incoming, *pushed, check=False):
    return module.ensure([one], list(pushed), "root", check, incoming)


def push(one, incoming, body=NEW):
    """Have it asked for, and then pushed."""
    ensure(one, incoming)
    (Path(incoming) / DIGEST).write_bytes(body)


def test_what_is_missing_is_named_with_the_place_to_push_it(one, incoming):
    assert ensure(one, incoming) == (False, {one["path"]: f"{incoming}/{DIGEST}"})
    assert stat.S_IMODE(Path(incoming).stat().st_mode) == 0o700


def test_what_was_pushed_is_put_in_its_place_and_then_left_alone(one, incoming):
    push(one, incoming)
    assert ensure(one, incoming, one["path"]) == (True, {})
    assert (Path(one["path"]).read_bytes(), mode(one)) == (NEW, 0o755)
    assert not Path(incoming).exists()
    assert ensure(one, incoming) == (False, {})


def test_what_did_not_arrive_whole_takes_no_user_s_place(one, incoming):
    there(one, b"old")
    push(one, incoming, NEW[:-1])
    with pytest.raises(module.ArtifactError, match="did not arrive whole"):
        ensure(one, incoming, one["path"])
    assert Path(one["path"]).read_bytes() == b"old"


def test_a_file_that_never_came_is_shown(one, incoming):
    ensure(one, incoming)
    with pytest.raises(module.ArtifactError, match="sha256 of no file"):
        ensure(one, incoming, one["path"])


def test_other_bytes_of_the_same_length_are_missing(one, incoming):
    there(one, b"old bytes")
    assert list(ensure(one, incoming)[1]) == [one["path"]]


def test_another_mode_is_fixed_without_a_push(one, incoming):
    there(one, NEW)
    assert ensure(one, incoming, check=True) == (True, {})
    assert mode(one) == 0o644
    assert ensure(one, incoming) == (True, {})
    assert mode(one) == 0o755


def test_a_dry_run_makes_nothing(one, incoming):
    assert list(ensure(one, incoming, check=True)[1]) == [one["path"]]
    assert not Path(incoming).exists()


def test_phases_that_run_at_once_push_to_folders_of_their_own(one):
    other = one | {"path": "/usr/local/bin/other"}
    assert module.folder_of([one]) != module.folder_of([other])


def test_of_a_file_that_is_named_by_its_digest_the_last_three_stay(one, incoming, tmp_path):
    one["artifact"]["versions"] = str(tmp_path / "bin/prog*")
    there(one, b"of another name")
    for age, name in enumerate(("prog-1", "prog-2", "prog-3")):
        (tmp_path / "bin" / name).write_bytes(b"old")
        os.utime(tmp_path / "bin" / name, (1000 + age, 1000 + age))
    (tmp_path / "bin/other").write_bytes(b"somebody else's")
    push(one, incoming)
    ensure(one, incoming, one["path"])
    assert sorted(p.name for p in (tmp_path / "bin").iterdir()) == ["other", "prog", "prog-2", "prog-3"]

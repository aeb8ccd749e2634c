"""`--json` of verbs that change something: what was changed, as JSON, and nothing else on standard output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ava.cli import main
from ava.cli.app import App
from ava.domain.model import Quota
from ava.schemas.workbenches import SshOut
from tests.unit.ava.api.pushed_images import image, pushing
from tests.unit.ava.api.site import WORD
from tests.unit.ava.cli.test_ava_cli import Run, ann, ava  # noqa: F401 - fixtures
from tests.unit.ava.cli.test_ava_workbench import SSH
from tests.unit.ava.cli.test_data_files import Fake, fake  # noqa: F401 - a fixture
from tests.unit.ava.served import Served

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJHt8yDhXJ5SPgcEFHwOgSGT0hGFkWi1dJ1rJbBmsCmh me@laptop\n"

PUSHED: dict[str, Any] = {"users/ann": {"used": 1, "images": [image("users/ann/torch", "1")]}}


def answer(run: Run, *argv: str) -> Any:
    """Return what a verb prints as JSON."""
    done = run(*argv, "--json")
    assert done.code == 0, (argv, done.err)
    return json.loads(done.out)


def test_verbs_of_users(ann: Run, served: Served, tmp_path: Path) -> None:  # noqa: F811
    pushing(served, PUSHED)
    (tmp_path / "id.pub").write_text(KEY)
    assert answer(ann, "key", "set", "ssh", "laptop", str(tmp_path / "id.pub"))["name"] == "laptop"
    assert answer(ann, "key", "delete", "ssh", "laptop") == {"deleted": "laptop", "kind": "ssh"}
    served.db.groups.create("speech", Quota(1, 1000, 2**30, None), served.now)
    served.db.groups.add_member("speech", "ann", served.now)
    assert answer(ann, "account", "default-group", "speech")["default_group"] == "speech"
    assert "--default" not in ann("group", "list", "--help").out
    token = answer(ann, "tokens", "make")["id"]
    assert answer(ann, "tokens", "end", token) == {"ended": token}
    made = answer(ann, "data", "create", "digits")
    assert made["name"] == "digits"
    assert answer(ann, "data", "share", "digits", "user", "ben")[0]["who"] == "ben"
    assert answer(ann, "data", "unshare", "digits", "user", "ben") == {"shares": [], "runs": []}
    assert answer(ann, "data", "delete", "digits") == {"deleted": made["id"], "name": "digits"}
    assert answer(ann, "image", "delete", "users/ann/torch:1")[0]["name"] == "users/ann/torch:1"
    assert "_AVA_COMPLETE" in answer(ann, "completion", "bash")["script"]
    assert answer(ann, "logout") == {"logged_out": True}
    assert answer(ann, "logout") == {"logged_out": False}


def test_verbs_of_administrators(ava: Run, served: Served) -> None:  # noqa: F811
    ava("--server", served.url, "login", "-u", "root2", stdin=f"{WORD}\n")
    assert answer(ava, "user", "create", "zoe", "zoe@example.org")["name"] == "zoe"
    assert answer(ava, "admin", "user", "zoe", "disabled")["state"] == "disabled"
    assert answer(ava, "group", "create", "speech")["name"] == "speech"
    assert answer(ava, "admin", "quota", "speech", "--gpu", "2")["quota"]["gpu"] == 2
    assert [m["name"] for m in answer(ava, "group", "add-member", "speech", "ben")] == ["ben"]
    assert answer(ava, "admin", "queue", "slow", "--new")["name"] == "slow"
    assert answer(ava, "admin", "delete-queue", "slow") == {"deleted": "slow"}
    assert answer(ava, "admin", "pool", "fast", "--gpu", "--new")["name"] == "fast"
    assert answer(ava, "admin", "delete-pool", "fast") == {"deleted": "fast"}


def test_images_deleted_before_one_that_is_refused_are_printed(ann: Run, served: Served) -> None:  # noqa: F811
    pushing(served, PUSHED)
    done = ann("image", "delete", "users/ann/torch:1", "users/ben/torch:1", "--json")
    assert done.code == 2
    assert [one["name"] for one in json.loads(done.out)] == ["users/ann/torch:1"]


def test_verbs_of_files(fake: Fake, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    file, got = tmp_path / "x.csv", tmp_path / "got"
    file.write_bytes(b"abc")
    sets = {"data_set": "d1ilp5dnq7e1m"}
    for argv, wanted in (
        (["put", "digits", str(file)], {**sets, "path": "x.csv", "size": 3}),
        (["get", "digits", "x.csv", str(got)], {**sets, "path": "x.csv", "file": str(got), "size": 7}),
        (["rm", "digits", "x.csv"], {**sets, "deleted": "x.csv"}),
    ):
        assert main.run(["data", *argv, "--json"]) == 0
        assert json.loads(capfd.readouterr().out) == wanted
    # The file's bytes and JSON cannot both be standard output.
    assert main.run(["data", "get", "digits", "x.csv", "-", "--json"]) == 2
    assert capfd.readouterr().out == ""


class Bench:
    """A client with one workbench."""

    name, owner, idle_exempt = "torch", "ann", True

    def __init__(self) -> None:
        self.ssh: SshOut = SSH

    def workbenches(self) -> list[Bench]:
        return [self]


def test_ssh_configuration_as_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(App, "client", lambda self: Bench())
    for more, written in ([], False), (["--write"], True):
        assert main.run(["workbench", "ssh-config", "--json", *more]) == 0
        reply = json.loads(capfd.readouterr().out)
        assert "Host ava-torch" in reply["config"] and "ssh-ed25519" in reply["known_hosts"]
        assert reply["written"] is (tmp_path / ".ssh/config").exists() is written

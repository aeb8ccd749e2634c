"""Files of data sets over HTTP: browsed, read, sent in pieces through cuts and kills, and nothing reached that is not theirs."""

import asyncio
import base64
import fcntl
import hashlib
import os
import time
import unicodedata
from datetime import UTC, datetime

import pytest
from starlette.testclient import TestClient

from ava.api.admin import sealing_key
from ava.domain.folders import FolderKind
from ava.domain.model import Kind
from ava.files import safe_fs, server
from ava.files.config import Config
from ava.files.data_set_files import DataSetFiles
from ava.files.metrics import Metrics
from ava.services.auth.caller import digest, new_secret
from tests.unit.ava.db.world import NOW, ONE, SPEC
from tests.unit.ava.files.conftest import ME

MEDIA = {"content-type": "application/offset+octet-stream"}
GIB = 2**30


@pytest.fixture
def site(world, ground, maker, tmp_path, monkeypatch):
    """The application over a data set of ann's; its files are this user's own where the tests are not root's."""
    world.person("bob", "vision")
    world.person("eve")
    ground.found()
    key = tmp_path / "sealing"
    sealing_key(key)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    config = Config(sealing_key=key, scratch=scratch, mount=ground.path)
    return Site(
        world,
        ground,
        maker,
        server.application(server.services(world.db, config), ground, config, Metrics()),
    )


class Site:
    def __init__(self, world, ground, maker, app):
        self.world, self.db, self.mount = world, world.db, ground.path
        self.files = DataSetFiles(self.db, ground, ME[1])
        self.client = TestClient(app, base_url="https://ava.test", raise_server_exceptions=False)
        self.id = self.db.data_sets.create("ann", "digits", {"kind": "folder"}, NOW).id
        maker.look(FolderKind.DATA_SET, self.id)
        self.data = self.mount / "datasets" / self.id / "data"
        self.sent = self.mount / "datasets" / self.id / "uploads"
        self.tokens = {name: self._token(name) for name in ("ann", "bob", "eve")}

    def _token(self, name):
        secret = new_secret()
        self.db.secrets.create(name, "token", digest(secret), NOW, until=None)
        return {"authorization": f"Bearer ava_t1.{secret}"}

    def ask(self, method, path, who="ann", headers=None, **more):
        head = self.tokens.get(who, {}) | (headers or {})
        return self.client.request(method, f"/api/v1/files/{path}", headers=head, **more)

    def begin(self, path, length, who="ann"):
        name = base64.b64encode(path.encode("utf-8", "surrogateescape")).decode()
        head = {"upload-length": str(length), "upload-metadata": f"filename {name}"}
        return self.ask("POST", f"{self.id}/uploads", who, head)

    def upload(self, path, length):
        answer = self.begin(path, length)
        assert answer.status_code == 201, answer.text
        return answer.headers["location"].removeprefix("/api/v1/files/")

    def send(self, where, offset, content, **more):
        return self.ask(
            "PATCH", where, headers=MEDIA | {"upload-offset": str(offset)} | more, content=content
        )

    def offset(self, where):
        return int(self.ask("HEAD", where).headers["upload-offset"])

    def read_by_a_run(self):
        spec = SPEC | {"data_sets": [{"name": "digits"}]}
        definition = self.db.definitions.save("ann", Kind.TRAINING, "reads", spec, NOW).id
        run = self.db.runs.create(
            definition, "k", NOW, asks=ONE, spec=spec, queue="default", priority=50, cluster="default"
        )
        assert not self.db.runs.admit(run.id, NOW)
        return run


def code(answer):
    return answer.status_code, answer.json()["problems"][0]["code"]


def test_a_file_comes_in_pieces_and_is_in_place_when_it_is_whole(site):
    where = site.upload("a/b/digits.bin", 11)
    assert site.send(where, 0, b"hello ").headers["upload-offset"] == "6"
    assert not (site.data / "a").exists()
    assert code(site.send(where, 0, b"again")) == (409, "offset-other")
    assert site.offset(where) == 6
    assert site.send(where, 6, b"world").status_code == 204
    file = site.data / "a/b/digits.bin"
    assert file.read_bytes() == b"hello world"
    assert file.stat().st_mode & 0o7777 == 0o644
    if ME[0] == 0:
        assert {p.stat().st_uid for p in (file, file.parent)} == {site.db.users.get("ann").uid}
    assert list(site.sent.iterdir()) == []
    assert site.ask("HEAD", where).status_code == 404
    read = site.ask("GET", f"{site.id}/content", params={"path": "a/b/digits.bin"})
    assert read.content == b"hello world"
    assert read.headers["content-disposition"] == "attachment"


def test_a_hundred_gib_go_on_where_they_were_cut(site):
    """What has come before is a sparse file: a hundred GiB to every program, nothing to the disk."""
    where = site.upload("large", 100 * GIB)
    assert site.send(where, 0, b"begin").status_code == 204
    (part,) = site.sent.iterdir()
    os.truncate(part, 100 * GIB - 3)
    assert site.offset(where) == 100 * GIB - 3
    assert site.send(where, site.offset(where), b"end"[: 100 * GIB - site.offset(where)]).status_code in (
        204,
    )
    file = site.data / "large"
    assert file.stat().st_size == 100 * GIB
    with file.open("rb") as opened:
        assert opened.read(5) == b"begin"


def test_no_more_is_kept_than_was_announced(site):
    where = site.upload("x", 3)
    assert code(site.send(where, 0, b"abcd")) == (413, "upload-longer")
    assert site.offset(where) == 0


def test_what_came_before_a_cut_is_kept(site):
    where = site.upload("x", 10)

    async def cut():
        yield b"abc"
        yield b"de"
        raise ConnectionError

    upload = site.db.uploads.list(site.id)[0]
    with pytest.raises(ConnectionError):
        asyncio.run(site.files.receive(site.db.data_sets.get(site.id), upload, 0, cut(), None))
    assert site.offset(where) == 5
    assert site.send(where, 5, b"fghij").status_code == 204
    assert (site.data / "x").read_bytes() == b"abcdefghij"


def test_a_wrong_checksum_leaves_nothing_of_its_part(site):
    where = site.upload("x", 6)
    right = base64.b64encode(hashlib.sha256(b"abc").digest()).decode()
    assert site.send(where, 0, b"abX", **{"upload-checksum": f"sha256 {right}"}).status_code == 460
    assert site.offset(where) == 0
    assert site.send(where, 0, b"abc", **{"upload-checksum": f"sha256 {right}"}).status_code == 204
    assert code(site.send(where, 3, b"def", **{"upload-checksum": "md5 xx"})) == (400, "checksum-unknown")
    assert site.send(where, 3, b"def").status_code == 204


def test_a_kill_between_the_file_and_the_database_is_got_over(site, monkeypatch):
    where = site.upload("x", 3)
    with monkeypatch.context() as patched:
        patched.setattr(site.db.uploads, "delete", lambda id: 1 / 0)
        assert site.send(where, 0, b"abc").status_code == 500
    assert (site.data / "x").read_bytes() == b"abc"
    # Who got no answer asks how much has come, and ends what is whole.
    assert site.offset(where) == 3
    assert site.send(where, 3, b"").status_code == 204
    assert (site.data / "x").read_bytes() == b"abc"
    assert site.ask("HEAD", where).status_code == 404


def test_while_a_run_reads_nothing_changes_and_what_has_come_waits(site):
    where = site.upload("x", 3)
    (site.data / "there").write_text("x")
    run = site.read_by_a_run()
    assert code(site.send(where, 0, b"abc")) == (409, "data-set-in-use")
    assert code(site.ask("DELETE", site.id, params={"path": "there"})) == (409, "data-set-in-use")
    assert not (site.data / "x").exists()
    site.db.runs.stop(run.id, NOW, by="ann")
    site.db.runs.finish(run.id, "stopped", "", NOW)
    assert site.send(where, 3, b"").status_code == 204
    assert (site.data / "x").read_bytes() == b"abc"
    assert site.ask("DELETE", site.id, params={"path": "there"}).status_code == 204


def test_what_is_there_is_replaced_only_where_that_is_shown(site):
    (site.data / "x").write_text("old")
    where = site.upload("x", 3)
    assert code(site.send(where, 0, b"new")) == (409, "file-there")
    assert (site.data / "x").read_text() == "old"
    assert site.send(where, 3, b"", **{"upload-replace": "1"}).status_code == 204
    assert (site.data / "x").read_text() == "new"


WRONG = [
    "",
    "/",
    "/etc/passwd",
    "../x",
    "a/../../x",
    "a//b",
    ".",
    "a/.",
    "%2e%2e/x",
    "a%00b",
    "a\nb",
    "x" * 300,
    "/".join(["d" * 200] * 30),
    "a%0ab",
    "%ff",
    "a%2Fb",
    "a%c2%85b",
]


@pytest.mark.parametrize("path", WRONG)
def test_no_upload_leaves_the_data_set_or_has_a_name_that_breaks_a_line(site, path):
    assert code(site.begin(path, 1)) == (422, "path-invalid")
    assert list(site.data.iterdir()) == list(site.sent.iterdir()) == []


@pytest.mark.parametrize("path", ["../uploads", "..", "%2e%2e", "/etc", "a/../..", "%2e%2e%2fuploads"])
def test_no_list_and_no_file_outside_the_data_set_is_read(site, path):
    for where in (site.id, f"{site.id}/content"):
        assert site.ask("GET", where, params={"path": path}).status_code in (404, 422)


def test_links_are_shown_and_never_followed(site, tmp_path):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("hidden")
    (site.data / "folder").symlink_to(secret)
    (site.data / "file").symlink_to(secret / "key")
    shown = {e["name"]: e["kind"] for e in site.ask("GET", site.id).json()["items"]}
    assert shown == {"folder": "link", "file": "link"}
    for path in ("file", "folder/key"):
        assert site.ask("GET", f"{site.id}/content", params={"path": path}).status_code == 404
    assert site.ask("GET", site.id, params={"path": "folder"}).status_code == 404
    where = site.upload("folder/new", 1)
    assert site.send(where, 0, b"x").status_code in (404, 409)
    assert [p.name for p in secret.iterdir()] == ["key"]
    assert site.ask("DELETE", site.id, params={"path": "folder/key"}).status_code == 404
    assert site.ask("DELETE", site.id, params={"path": "folder"}).status_code == 204
    assert (secret / "key").read_text() == "hidden"


def test_a_link_that_takes_an_uploads_place_is_not_written_through(site, tmp_path):
    target = tmp_path / "target"
    target.write_text("untouched")
    where = site.upload("x", 3)
    (part,) = site.sent.iterdir()
    part.unlink()
    part.symlink_to(target)
    assert site.send(where, 0, b"abc").status_code in (404, 409, 503)
    assert target.read_text() == "untouched"


def test_pipes_and_devices_are_no_files(site):
    os.mkfifo(site.data / "pipe")
    assert site.ask("GET", f"{site.id}/content", params={"path": "pipe"}).status_code == 404
    assert site.ask("GET", site.id).json()["items"][0]["kind"] == "other"


def test_every_name_can_be_listed_and_asked_for(site):
    names = [b"line\nbreak", b"\xff\xfe", b"100%", "naïve".encode(), b" ", b"a+b", b"<script>", b"%41"]
    for name in names:
        (site.data / os.fsdecode(name)).write_bytes(name)
    items = site.ask("GET", site.id).json()["items"]
    assert len(items) == len(names)
    read = {site.ask("GET", f"{site.id}/content", params={"path": item["path"]}).content for item in items}
    assert read == set(names)
    assert not [c for item in items for c in item["name"] if unicodedata.category(c) in ("Cc", "Cs")]


def test_who_may_not_read_learns_nothing_and_who_reads_changes_nothing(site):
    (site.data / "x").write_text("x")
    where = site.upload("y", 1)
    for who in ("bob", "eve"):
        assert site.ask("GET", site.id, who).status_code == 404
        assert site.ask("HEAD", where, who).status_code == 404
    site.db.data_sets.share(site.id, "group", "vision", NOW)
    assert site.ask("GET", site.id, "bob").status_code == 200
    assert site.ask("GET", f"{site.id}/content", "bob", params={"path": "x"}).text == "x"
    assert code(site.begin("z", 1, "bob")) == (403, "not-allowed")
    assert code(site.ask("DELETE", site.id, "bob", params={"path": "x"})) == (403, "not-allowed")
    assert site.ask("PATCH", where, "bob", MEDIA | {"upload-offset": "0"}, content=b"x").status_code == 403
    assert site.ask("GET", site.id, "nobody").status_code == 401
    assert (site.data / "x").exists()


def test_a_limit_that_is_reached_is_shown_and_what_has_come_stays(site, monkeypatch):
    where = site.upload("x", 6)
    assert site.send(where, 0, b"abc").status_code == 204

    def full(file, piece, at):
        raise OSError(122, "Disk quota exceeded")

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", full)
        assert code(site.send(where, 3, b"def")) == (409, "storage-full")
    assert site.offset(where) == 3


def test_a_new_data_set_without_its_folder_yet_is_asked_for_again_and_nothing_is_begun(site):
    (site.data.parent).rename(site.data.parent.with_name("elsewhere"))
    for answer in (site.begin("y", 1), site.ask("GET", site.id)):
        assert code(answer) == (503, "folder-not-made")
    assert site.db.uploads.list_stale(datetime(2100, 1, 1, tzinfo=UTC)) == []


def test_a_mount_that_is_away_is_shown_and_nothing_is_written(site, kind):
    where = site.upload("x", 3)
    kind[0] = "ext4"
    for answer in (site.send(where, 0, b"abc"), site.ask("GET", site.id), site.begin("y", 1)):
        assert code(answer) == (503, "storage-unavailable")


def test_an_upload_that_was_given_up_leaves_nothing(site):
    where = site.upload("x", 3)
    site.send(where, 0, b"ab")
    assert site.ask("DELETE", where).status_code == 204
    assert list(site.sent.iterdir()) == []
    assert site.ask("HEAD", where).status_code == 404


def test_only_uploads_that_no_one_goes_on_with_are_given_up(site):
    left, alive = site.upload("left", 3), site.upload("alive", 3)
    for where in (left, alive):
        site.send(where, 0, b"ab")
    soon = time.time() + 60
    for part in site.sent.iterdir():
        # What came to one of them came later than what is looked back to.
        os.utime(part, (soon + 1, soon + 1) if alive.endswith(part.name) else (0, 0))
    site.files.give_up_stale(datetime.fromtimestamp(soon, UTC))
    assert [part.name for part in site.sent.iterdir()] == [alive.removeprefix("uploads/")]
    assert site.ask("HEAD", left).status_code == 404


def test_two_do_not_send_one_file_at_once(site):
    where = site.upload("x", 3)
    (part,) = site.sent.iterdir()
    with safe_fs.folder(str(site.sent)) as folder:
        other = os.open(part.name, os.O_WRONLY, dir_fd=folder)
        fcntl.flock(other, fcntl.LOCK_EX)
        assert code(site.send(where, 0, b"abc")) == (423, "upload-busy")
        os.close(other)
    assert site.send(where, 0, b"abc").status_code == 204


def test_who_says_so_is_reported_before_sending_that_a_name_is_taken(site):
    (site.data / "there").write_text("x")
    name = base64.b64encode(b"there").decode()
    for reply, status in (("MA==", 409), ("MQ==", 201)):
        head = {"upload-length": "1", "upload-metadata": f"filename {name},replace {reply}"}
        assert site.ask("POST", f"{site.id}/uploads", headers=head).status_code == status
    fresh = base64.b64encode(b"new/folder/file").decode()
    head = {"upload-length": "1", "upload-metadata": f"filename {fresh},replace MA=="}
    assert site.ask("POST", f"{site.id}/uploads", headers=head).status_code == 201
    assert sorted(p.name for p in site.data.iterdir()) == ["there"]

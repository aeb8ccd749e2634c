"""What users have in the registry's folder: counted in bounded time whatever lies there, cut, tidied without a loss."""

import hashlib
import json
import time

import pytest

from avadm_node.agents.registry import account, cut, serve
from avadm_node.agents.registry.account import Account, limit
from avadm_node.agents.registry.storage import Storage, is_owner, names
from avadm_node.agents.registry.tidy import due, tidy


class Folder:
    """A registry's folder, filled as the registry fills it."""

    def __init__(self, root):
        self.root, self.storage = root, Storage(str(root))
        self.base = root / "docker/registry/v2"
        (self.base / "repositories").mkdir(parents=True)

    def blob(self, content):
        digest = hashlib.sha256(content).hexdigest()
        path = self.base / "blobs/sha256" / digest[:2] / digest
        path.mkdir(parents=True, exist_ok=True)
        (path / "data").write_bytes(content)
        return digest

    def link(self, *parts, digest):
        path = self.base.joinpath("repositories", *parts)
        path.mkdir(parents=True, exist_ok=True)
        (path / "link").write_text(f"sha256:{digest}")

    def layer(self, repository, content):
        digest = self.blob(content)
        self.link(repository, "_layers/sha256", digest, digest=digest)
        return digest

    def manifest(self, repository, tag, body):
        digest = self.blob(body if isinstance(body, bytes) else json.dumps(body).encode())
        self.link(repository, "_manifests/revisions/sha256", digest, digest=digest)
        if tag:
            self.link(repository, "_manifests/tags", tag, "current", digest=digest)
        return digest

    def image(self, repository, tag, *layers):
        rows = [{"digest": "sha256:" + self.layer(repository, one), "size": 1} for one in layers]
        return self.manifest(repository, tag, {"layers": rows})

    def delete(self, repository, digest):
        (self.base / "repositories" / repository / "_manifests/revisions/sha256" / digest / "link").unlink()

    def upload(self, repository, name, size):
        path = self.base / "repositories" / repository / "_uploads" / name
        path.mkdir(parents=True)
        (path / "startedat").write_text("now")
        (path / "data").write_bytes(b"x" * size)
        return path

    def of(self, owner):
        return Account(self.storage, owner)


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def test_each_layer_counts_once_for_each_who_has_it(folder):
    for repository in ("users/ann/a", "users/ann/deep/b", "users/ben/a"):
        folder.image(repository, "1", b"shared" * 1000, repository.encode() * 100)
    manifests = sum(i["size"] for i in folder.of("users/ann").images) - 2 * 6000 - 100 * (11 + 16)
    assert folder.of("users/ann").used == 6000 + 100 * (11 + 16) + manifests
    assert folder.of("users/an").used == folder.of("groups/ann").used == 0
    assert folder.storage.owners() == ["users/ann", "users/ben"]


def test_what_is_sent_and_what_no_manifest_names_counts(folder):
    folder.layer("users/ann/a", b"x" * 500)
    folder.upload("users/ann/a", "u1", 70)
    found = folder.of("users/ann")
    assert (found.used, found.loose, found.waiting) == (570, 500, 0)


def test_what_was_deleted_waits_unless_another_image_has_it_too(folder):
    gone = folder.image("users/ann/a", "1", b"shared" * 100, b"own" * 100)
    folder.image("users/ann/a", "2", b"shared" * 100)
    folder.delete("users/ann/a", gone)
    found = folder.of("users/ann")
    assert 300 < found.waiting < 600
    assert 600 < found.used < 900
    assert [i["tags"] for i in found.images] == [["2"]]


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b"7", b"null", b"\xff\xfe", b"[" * 100000, b'{"layers": 7}', b'{"layers": [7, {}, {"digest": 5}]}',
     b'{"config": {"digest": "sha256:../../etc"}}', b'{"manifests": {"digest": "x"}}'],
)  # fmt: skip
def test_what_is_no_manifest_names_nothing(folder, text):
    assert names(text) == (frozenset(), frozenset())
    folder.manifest("users/ann/a", "1", text)
    assert folder.of("users/ann").used == len(text)


def test_lists_within_lists_are_counted_once_and_end(folder):
    digest = folder.image("users/ann/a", "", b"layer" * 100)
    for _ in range(50):
        digest = folder.manifest("users/ann/a", "", {"manifests": [{"digest": f"sha256:{digest}"}] * 3})
    found = folder.of("users/ann")
    assert 500 < found.used < 500 + 51 * 400
    assert not found.countless


def _many(kind, folder):
    if kind == "repositories":
        for n in range(6):
            folder.layer(f"users/ann/r{n}", b"x")
    elif kind == "manifests":
        for n in range(6):
            folder.manifest("users/ann/a", "", {"layers": [], "n": n})
    elif kind == "tags":
        for n in range(6):
            folder.manifest("users/ann/a", f"t{n}", {"layers": []})
    elif kind == "layers":
        for n in range(6):
            folder.layer("users/ann/a", b"%d" % n)
    elif kind == "manifest bytes":
        folder.manifest("users/ann/a", "1", b" " * 2000)
    elif kind == "deleted manifests":
        for n in range(6):
            folder.delete("users/ann/a", folder.manifest("users/ann/a", "", {"layers": [], "n": n}))


@pytest.mark.parametrize(
    "kind", ["repositories", "manifests", "tags", "layers", "manifest bytes", "deleted manifests"]
)
def test_no_one_keeps_others_waiting_by_how_much_they_have(folder, monkeypatch, kind):
    for name in ("REPOSITORIES", "MANIFESTS", "TAGS", "LAYERS"):
        monkeypatch.setattr(account, name, 5)
    monkeypatch.setattr(account, "MANIFEST_BYTES", 1000)
    folder.image("users/ann/a", "1", b"x")
    assert not folder.of("users/ann").countless
    _many(kind, folder)
    assert folder.of("users/ann").countless


def test_links_lead_nowhere(folder, tmp_path):
    folder.image("users/ben/a", "1", b"x" * 500)
    ann = folder.base / "repositories/users/ann"
    ann.mkdir()
    (ann / "a").symlink_to(folder.base / "repositories/users/ben/a")
    (ann / "b").mkdir()
    (ann / "b/_layers").symlink_to(folder.base / "repositories/users/ben/a/_layers")
    assert folder.of("users/ann").images == []


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("users/ann", True), ("groups/vision-2", True), ("users/ann.b_c", True), ("users/..", False), ("users/", False),
        ("users", False), ("", False), ("users/a/b", False), ("avadm/x", False), ("users/Ann", False), ("users/a\n", False),
        ("users/" + "a" * 101, False), ("users/%2e%2e", False), ("users/.a", False),
    ],
)  # fmt: skip
def test_an_owner_is_a_name_and_no_path(name, good):
    assert is_owner(name) is good


def test_ones_own_limit_goes_before_all_users():
    limits = {"users": 5, "groups": None, "users/zoe": None, "groups/big": 0}
    owners = ("users/ann", "users/zoe", "groups/any", "groups/big")
    assert [limit(owner, limits) for owner in owners] == [5, None, None, 0]
    assert limit("users/ann", {}) is None


def test_who_sends_too_much_is_cut_and_no_other_user(folder):
    mine, theirs = folder.upload("users/ann/a", "u1", 600), folder.upload("users/ben/a", "u2", 400)
    messages = []
    with (mine / "data").open("ab") as sending:
        cut.look(folder.storage, {"users": 500}, 0, messages.append)
        assert not mine.exists()
        assert theirs.exists()
        sending.write(b"y" * 100)
        sending.flush()
    [moved] = (folder.root / cut.AWAY).iterdir()
    assert (moved / "data").stat().st_size == 100
    cut.look(folder.storage, {"users": 500}, 0, messages.append)
    assert (moved / "data").stat().st_size == 0
    assert folder.of("users/ann").used == 0
    assert len(messages) == 1
    later = time.time() + cut.KEPT_S + 1
    with (moved / "data").open("ab") as sending:
        sending.write(b"z" * 100)
        sending.flush()
        # Anyone who waits a day before they continue finds it no less empty.
        cut.empty(str(folder.root), later)
        assert (moved / "data").stat().st_size == 0
    cut.empty(str(folder.root), later)
    assert list((folder.root / cut.AWAY).iterdir()) == []


def test_an_upload_is_cut_in_whichever_of_many_repositories_it_is(folder, monkeypatch):
    monkeypatch.setattr(account, "REPOSITORIES", 2)
    paths = [folder.upload(f"users/ann/r{n}", "u", 1) for n in range(5)]
    cut.look(folder.storage, {"users": 500}, 0, [].append)
    assert not any(path.exists() for path in paths)


def test_an_upload_that_ended_meanwhile_is_not_cut(folder):
    path = folder.upload("users/ann/a", "u1", 600)
    gone = str(path.with_name("u9"))
    assert not cut.away(str(folder.root), gone)
    assert list((folder.root / cut.AWAY).iterdir()) == []
    assert cut.away(str(folder.root), str(path))


def test_within_the_space_nothing_is_touched(folder):
    path = folder.upload("users/ann/a", "u1", 500)
    cut.look(folder.storage, {"users": 500}, 0, pytest.fail)
    cut.look(folder.storage, {"users": None}, 0, pytest.fail)
    assert path.exists()


def test_where_there_is_no_room_all_users_uploads_are_cut(folder):
    paths = [folder.upload("users/ann/a", "u1", 5), folder.upload("groups/vision/a", "u2", 5)]
    messages = []
    assert cut.room(str(folder.root), 0)
    assert not cut.room(str(folder.root), 101)
    cut.look(folder.storage, {"users": 500}, 101, messages.append)
    assert [path.exists() for path in paths] == [False, False]
    assert "less than 101 % of the disk is free" in messages[0]


def layers(folder, repository):
    return {p.name for p in (folder.base / "repositories" / repository / "_layers/sha256").iterdir()}


def test_tidying_keeps_all_that_a_manifest_names(folder):
    gone = folder.image("users/ann/a", "1", b"gone", b"shared")
    folder.image("users/ann/a", "", b"untagged", b"shared")
    folder.image("avadm/base", "12", b"base")
    folder.layer("users/ann/a", b"loose")
    folder.delete("users/ann/a", gone)
    broken = folder.base / "repositories/users/ann/a/_uploads/u1/hashstates"
    broken.mkdir(parents=True)
    upload = folder.upload("users/ann/a", "u2", 5)
    assert tidy(folder.storage) == 2
    kept = {hashlib.sha256(one).hexdigest() for one in (b"untagged", b"shared")}
    assert layers(folder, "users/ann/a") == kept
    assert len(layers(folder, "avadm/base")) == 1
    assert not broken.exists()
    assert upload.exists()
    assert not (folder.base / "repositories/users/ann/a/_manifests/revisions/sha256" / gone).exists()
    assert tidy(folder.storage) == 0


@pytest.mark.parametrize("text", [b"not to be read", None])
def test_tidying_leaves_a_repository_alone_of_which_a_manifest_cannot_be_read(folder, text):
    digest = folder.manifest("users/ann/a", "1", text or b"")
    if text is None:
        (folder.base / "blobs/sha256" / digest[:2] / digest / "data").unlink()
    folder.layer("users/ann/a", b"x")
    assert tidy(folder.storage) == 0
    assert len(layers(folder, "users/ann/a")) == 1


def test_a_collection_is_due_for_much_or_for_who_waits(folder):
    digest = folder.image("users/ann/a", "1", b"x" * 600)
    assert due(folder.storage, {"users": 1000}, 1) == ""
    folder.delete("users/ann/a", digest)
    assert "bytes" in due(folder.storage, {"users": 1000}, 600)
    assert due(folder.storage, {"users": 1000}, 6000) == ""
    assert "users/ann" in due(folder.storage, {"users": 300}, 6000)
    folder.layer("users/ben/a", b"y" * 600)
    assert "users/ben" in due(folder.storage, {"users": 500}, 6000)


def test_who_asks_again_and_again_takes_a_part_of_a_processor_at_most(folder, monkeypatch):
    """A count of 0.2 s of processor time is reported again for 0.4 s."""
    now, counts = [100.0], []
    monkeypatch.setattr(serve.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(serve.time, "process_time", lambda: now[0] + 0.2 * len(counts))
    monkeypatch.setattr(serve, "answer", lambda *_: counts.append(0) or {"count": len(counts)})
    report = serve.handler(folder.storage, {}, 0, "registry:ava").usage_of
    for after, count in ((0, 1), (0.3, 1), (0.5, 2), (0.6, 2)):
        now[0] = 100.0 + after
        assert report("users/ann")["count"] == count
    assert report("users/ben")["count"] == 3

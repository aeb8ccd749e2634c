import tarfile

import pytest

from avadm.artifacts import images, manifest
from avadm.artifacts.store import ArtifactState
from avadm.errors import AvadmError

MODULE = '  - module: {name: example.org/thing, version: v1.2.3, sum: "h1:right", to: src}\n'
ARCHIVE = "  - archive: {folder: src, output: out.tar}\n"


def test_files_are_removed_laid_over_added_to_and_packed(packed):
    packed.commands.module.chmod(0o755)
    (packed.commands.module / "old.go").write_text("")
    overlay = packed.artifact.folder / "patch"
    overlay.mkdir()
    (overlay / "new.go").write_text("new\n")
    folder = packed.build(
        MODULE
        + "  - remove: {files: src/old.go}\n"
        + "  - overlay: {source: patch, to: src}\n"
        + '  - append: {file: src/main.go, text: "more\\n"}\n'
        + "  - copy: {from: src/main.go, to: root/etc/main.go}\n"
        + "  - copy: {from: src/new.go, to: root/etc/new.go}\n"
        + '  - mode: {files: "root/etc/*", mode: "0700"}\n'
        + "  - archive: {folder: root, output: out.tar}\n"
    )
    with tarfile.open(folder / "out.tar") as tar:
        modes = {m.name: m.mode & 0o777 for m in tar if m.isfile()}
        assert modes == {"etc/main.go": 0o700, "etc/new.go": 0o700}
        assert tar.extractfile("etc/main.go").read() == b"worse\nmore\n"


def test_a_pattern_that_finds_nothing_is_an_error(packed):
    with pytest.raises(AvadmError, match="find files"):
        packed.build(MODULE + "  - remove: {files: src/nothing*}\n")


def test_a_module_without_go_mod_gets_one(packed):
    folder = packed.build(MODULE + ARCHIVE)
    with tarfile.open(folder / "out.tar") as tar:
        assert tar.extractfile("go.mod").read() == b"module example.org/thing\n"


@pytest.fixture
def user(packed, monkeypatch):
    """An artifact that needs the other one."""
    user = packed.artifact.model_copy(update={"name": "user", "needs": ("thing",)})
    monkeypatch.setattr(manifest, "manifest", lambda: {"thing": packed.artifact, "user": user})
    return user


def test_an_image_of_what_another_artifact_has(packed, user):
    thing = packed.build(MODULE + ARCHIVE)
    steps = (
        "  - take: {artifact: thing, file: out.tar, to: layers/usr/thing.tar}\n"
        '  - image: {name: "avadm/user:1", layers: [layers], command: [x], output: out.tar}\n'
    )
    folder = packed.build(steps, user)
    image = images.read(folder / "out.tar")
    assert image is not None
    report = packed.store.variables(user)
    report = report["files"]["out.tar"]
    assert (report["image"], report["image_id"]) == ("avadm/user:1", image.id)
    assert thing.is_dir()
    # What it is made of is of another recipe now, and so is it.
    packed.other_recipe()
    assert packed.store.state(user) is ArtifactState.STALE


def test_the_environment_of_an_image_may_name_its_version(packed, user):
    packed.build(MODULE + ARCHIVE)
    steps = (
        "  - take: {artifact: thing, file: out.tar, to: layers/usr/thing.tar}\n"
        '  - image: {name: "avadm/user:1", layers: [layers], command: [x], output: out.tar, env: {V: "v{version}"}}\n'
    )
    folder = packed.build(steps, user)
    with tarfile.open(folder / "out.tar") as archive:
        texts = [archive.extractfile(m).read() for m in archive.getmembers() if m.isfile()]
    assert any(f'"V=v{user.version}"'.encode() in text for text in texts)


def test_what_an_artifact_needs_is_made_before_it(packed, user):
    (packed.artifact.folder / "recipe.yml").write_text(f"steps:\n{MODULE}{ARCHIVE}")
    packed.build(
        "  - take: {artifact: thing, file: out.tar, to: a/b.tar}\n  - archive: {folder: a, output: out.tar}\n",
        user,
    )
    assert packed.store.state(packed.artifact) is ArtifactState.PRESENT


def test_a_small_debian_is_made_by_mmdebstrap(packed):
    steps = "  - debian: {release: bookworm, packages: [a, b], commands: [echo hi], output: debian.tar}\n"
    with pytest.raises(AvadmError, match=r"out\.tar is not there"):
        packed.build(steps)
    [argv] = [a[0] for a in packed.commands.asked if a[0][0] == "mmdebstrap"]
    assert "--variant=minbase" in argv
    assert "--include=a,b" in argv
    assert any("echo hi" in a for a in argv)
    assert argv[-2] == "bookworm"

import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from avadm.artifacts import images, manifest
from avadm.artifacts.make import Maker
from avadm.artifacts.manifest import Artifact, Wanted
from avadm.artifacts.store import State, Store
from avadm.errors import AvadmError
from tests.unit.artifacts.conftest import FakeCommands


@dataclass
class Site:
    artifact: Artifact
    store: Store
    commands: FakeCommands

    def build(self, steps: str, artifact: Artifact | None = None) -> Path:
        artifact = artifact or self.artifact
        artifact.folder.mkdir(parents=True, exist_ok=True)
        (artifact.folder / "recipe.yml").write_text(f"steps:\n{steps}")
        maker = Maker(self.store, "build", lambda name, text: None, self.commands)  # type: ignore[arg-type]
        maker.one(artifact)
        return self.store.folder(artifact)


@pytest.fixture
def at(artifact: Artifact, store: Store, commands: FakeCommands) -> Site:
    return Site(artifact.model_copy(update={"files": {"out.tar": Wanted()}}), store, commands)


MODULE = '  - module: {name: example.org/thing, version: v1.2.3, sum: "h1:right", to: src}\n'


def test_files_are_removed_laid_over_added_to_and_packed(at: Site) -> None:
    (at.commands.module).chmod(0o755)
    (at.commands.module / "old.go").write_text("")
    overlay = at.artifact.folder / "patch"
    overlay.mkdir()
    (overlay / "new.go").write_text("new\n")
    folder = at.build(
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
        assert {m.name: m.mode & 0o777 for m in tar if m.isfile()} == {
            "etc/main.go": 0o700,
            "etc/new.go": 0o700,
        }
        assert tar.extractfile("etc/main.go").read() == b"worse\nmore\n"  # type: ignore[union-attr]


def test_a_pattern_that_finds_nothing_is_an_error(at: Site) -> None:
    with pytest.raises(AvadmError, match="find files"):
        at.build(MODULE + "  - remove: {files: src/nothing*}\n")


def test_a_module_without_go_mod_gets_one(at: Site) -> None:
    folder = at.build(MODULE + "  - archive: {folder: src, output: out.tar}\n")
    with tarfile.open(folder / "out.tar") as tar:
        assert tar.extractfile("go.mod").read() == b"module example.org/thing\n"  # type: ignore[union-attr]


def test_an_image_of_what_another_artifact_has(at: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    user = at.artifact.model_copy(update={"name": "user", "needs": ("thing",)})
    monkeypatch.setattr(manifest, "manifest", lambda: {"thing": at.artifact, "user": user})
    thing = at.build(MODULE + "  - archive: {folder: src, output: out.tar}\n")
    steps = (
        "  - take: {artifact: thing, file: out.tar, to: layers/usr/thing.tar}\n"
        '  - image: {name: "avadm/user:1", layers: [layers], command: [x], output: out.tar}\n'
    )
    folder = at.build(steps, user)
    image = images.read(folder / "out.tar")
    assert image is not None
    told = at.store.variables(user)
    assert told is not None
    assert (told["files"]["out.tar"]["image"], told["files"]["out.tar"]["image_id"]) == (
        "avadm/user:1",
        image.id,
    )
    assert thing.is_dir()
    # What it is made of is of another recipe now, and so is it.
    (at.artifact.folder / "recipe.yml").open("a").write("# other\n")
    assert at.store.state(user) is State.STALE


def test_what_an_artifact_needs_is_made_before_it(at: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    user = at.artifact.model_copy(update={"name": "user", "needs": ("thing",)})
    monkeypatch.setattr(manifest, "manifest", lambda: {"thing": at.artifact, "user": user})
    (at.artifact.folder / "recipe.yml").write_text(
        f"steps:\n{MODULE}  - archive: {{folder: src, output: out.tar}}\n"
    )
    at.build(
        "  - take: {artifact: thing, file: out.tar, to: a/b.tar}\n  - archive: {folder: a, output: out.tar}\n",
        user,
    )
    assert at.store.state(at.artifact) is State.PRESENT


def test_a_small_debian_is_made_by_mmdebstrap(at: Site) -> None:
    with pytest.raises(AvadmError, match=r"out\.tar is not there"):
        at.build(
            "  - debian: {release: bookworm, packages: [a, b], commands: [echo hi], output: debian.tar}\n"
        )
    [argv] = [a[0] for a in at.commands.asked if a[0][0] == "mmdebstrap"]
    assert "--variant=minbase" in argv
    assert "--include=a,b" in argv
    assert any("echo hi" in a for a in argv)
    assert argv[-2] == "bookworm"

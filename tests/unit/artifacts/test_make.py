import threading
import time
from pathlib import Path

import pytest

from avadm.artifacts.commands import LocalCommands, Stopped
from avadm.artifacts.make import Maker
from avadm.artifacts.manifest import Artifact
from avadm.artifacts.store import State, Store, sha256
from avadm.errors import AvadmError
from tests.unit.artifacts.conftest import FakeCommands


def maker(store: Store, commands: FakeCommands, told: list[str] | None = None, **more: object) -> Maker:
    tell = (lambda name, text: told.append(text)) if told is not None else (lambda name, text: None)
    return Maker(store, "build", tell, commands, **more)  # type: ignore[arg-type]


def test_a_build_leaves_files_checksums_and_what_the_program_said(
    artifact: Artifact, store: Store, commands: FakeCommands
) -> None:
    record = maker(store, commands).one(artifact)
    path = store.folder(artifact) / "thing"
    assert record is not None
    assert path.read_text() == "better\n"
    assert record.files["thing"].sha256 == sha256(path)
    assert record.files["thing"].reported == "thing 1.2.3"
    assert (record.source, record.toolchain) == ("build", "go1.26.8")
    assert store.state(artifact, deep=True) is State.PRESENT
    assert [p.name for p in store.root.glob("thing/.work*")] == []


def test_a_build_is_pinned_and_reproducible(artifact: Artifact, store: Store, commands: FakeCommands) -> None:
    maker(store, commands).one(artifact)
    (argv, _, env) = next(a for a in commands.asked if a[0][:2] == ("go", "build"))
    assert env["GOTOOLCHAIN"] == "go1.26.8"
    assert "-trimpath" in env["GOFLAGS"].split()
    assert "-mod=readonly" in env["GOFLAGS"].split()
    assert env["CGO_ENABLED"] == "0"
    assert "-ldflags=-s -w -X main.version=1.2.3" in argv


def test_a_second_build_does_nothing_and_again_does_it(
    artifact: Artifact, store: Store, commands: FakeCommands
) -> None:
    maker(store, commands).one(artifact)
    before = len(commands.asked)
    assert maker(store, commands).one(artifact) is None
    assert len(commands.asked) == before
    assert maker(store, commands, again=True).one(artifact) is not None


def test_another_recipe_makes_it_stale_and_builds_it_anew(
    artifact: Artifact, store: Store, commands: FakeCommands
) -> None:
    maker(store, commands).one(artifact)
    (artifact.folder / "recipe.yml").open("a").write("# other\n")
    assert store.state(artifact) is State.STALE
    assert maker(store, commands).one(artifact) is not None
    assert store.state(artifact) is State.PRESENT


def test_what_is_damaged_is_found_and_made_anew(
    artifact: Artifact, store: Store, commands: FakeCommands
) -> None:
    maker(store, commands).one(artifact)
    path = store.folder(artifact) / "thing"
    path.write_text("bitter\n")
    assert store.state(artifact) is State.PRESENT, "sizes are equal: only reading tells"
    assert store.state(artifact, deep=True) is State.DAMAGED
    path.write_text("shorter\nlonger\n")
    assert store.state(artifact) is State.DAMAGED
    assert maker(store, commands).one(artifact) is not None
    assert store.state(artifact, deep=True) is State.PRESENT


def test_a_program_that_says_another_version_is_not_kept(
    artifact: Artifact, store: Store, commands: FakeCommands
) -> None:
    commands.says = "thing 1.2.4"
    with pytest.raises(AvadmError, match="does not say its version") as caught:
        maker(store, commands).one(artifact)
    assert caught.value.findings[0].found == "thing 1.2.4"
    assert store.state(artifact) is State.ABSENT


def test_a_module_with_another_checksum_is_refused(
    artifact: Artifact, store: Store, commands: FakeCommands
) -> None:
    commands.sum = "h1:wrong"
    with pytest.raises(AvadmError) as caught:
        maker(store, commands).one(artifact)
    assert (caught.value.findings[0].found, caught.value.findings[0].wanted) == ("h1:wrong", "h1:right")


def test_a_text_that_is_not_there_is_an_error_not_a_skip(
    artifact: Artifact, store: Store, commands: FakeCommands
) -> None:
    commands.module.chmod(0o755)
    (commands.module / "main.go").chmod(0o644)
    (commands.module / "main.go").write_text("other\n")
    with pytest.raises(AvadmError, match=r"change src/main\.go"):
        maker(store, commands).one(artifact)


def test_a_failed_step_names_the_log_and_leaves_what_was_there(
    artifact: Artifact, store: Store, commands: FakeCommands
) -> None:
    maker(store, commands).one(artifact)
    commands.fails = "build"
    made, findings = maker(store, commands, again=True).make([artifact], 2)
    assert made == []
    assert [(f.where, f.found) for f in findings] == [(str(store.log(artifact)), "it is broken")]
    assert store.state(artifact, deep=True) is State.PRESENT


def test_two_builds_at_once_build_once(artifact: Artifact, store: Store, commands: FakeCommands) -> None:
    told: list[str] = []
    first_is_at_work = threading.Event()

    class Slow(FakeCommands):
        def run(self, argv, **kwargs):  # type: ignore[no-untyped-def]
            first_is_at_work.set()
            time.sleep(0.1)
            return super().run(argv, **kwargs)

    slow = Slow(commands.module)
    one = threading.Thread(target=maker(store, slow).one, args=(artifact,))
    one.start()
    first_is_at_work.wait(5)
    assert maker(store, commands, told).one(artifact) is None
    one.join()
    assert told == ["another avadm builds it: waiting", "there already"]
    assert commands.asked == []


def test_without_go_the_remedy_is_named(artifact: Artifact, store: Store, tmp_path: Path) -> None:
    class NoGo(LocalCommands):
        def run(self, argv, **kwargs):  # type: ignore[no-untyped-def]
            return super().run(["no-such-go", *argv[1:]], **kwargs)

    with pytest.raises(AvadmError, match="no go here"):
        Maker(store, "build", lambda name, text: None, NoGo()).one(artifact)


def test_commands_are_logged_heard_and_ended_when_stopped(tmp_path: Path) -> None:
    commands, heard, log = LocalCommands(), [], tmp_path / "log"
    done = commands.run(
        ["sh", "-c", "echo out; echo err >&2; exit 3"], cwd=tmp_path, env={}, log=log, heard=heard.append
    )
    assert (done.rc, done.stdout, done.said, heard) == (3, "out\n", ("err",), ["err"])
    assert "err\n" in log.read_text()
    started = time.monotonic()
    threading.Timer(0.3, commands.stop).start()
    with pytest.raises(Stopped):
        commands.run(["sleep", "30"], cwd=tmp_path, env={}, log=log)
    assert time.monotonic() - started < 10

import threading
import time

import pytest

from avadm.artifacts.commands import LocalCommands, Stopped
from avadm.artifacts.store import sha256
from avadm.errors import AvadmError
from tests.unit.artifacts.conftest import FakeCommands
from tests.unit.fakes.errors import refused


def test_a_build_leaves_files_checksums_and_what_the_program_shown(at):
    record = at.make()
    assert at.made.read_text() == "better\n"
    assert record.files["thing"].sha256 == sha256(at.made)
    assert record.files["thing"].reported == "thing 1.2.3"
    assert (record.source, record.toolchain) == ("build", "go1.26.8")
    assert at.is_("PRESENT")
    assert [p.name for p in at.store.root.glob("thing/.work*")] == []


def test_a_build_is_pinned_and_reproducible(at):
    at.make()
    (argv, _, env) = next(a for a in at.commands.asked if a[0][:2] == ("go", "build"))
    assert (env["GOTOOLCHAIN"], env["CGO_ENABLED"]) == ("go1.26.8", "0")
    assert {"-trimpath", "-mod=readonly"} <= set(env["GOFLAGS"].split())
    assert "-ldflags=-s -w -X main.version=1.2.3" in argv


def test_a_second_build_does_nothing_and_again_does_it(at):
    at.make()
    before = len(at.commands.asked)
    assert at.make() is None
    assert len(at.commands.asked) == before
    assert at.make(again=True) is not None


def test_another_recipe_makes_it_stale_and_builds_it_again(at):
    at.make()
    at.other_recipe()
    assert at.is_("STALE", deep=False)
    assert at.make() is not None
    assert at.is_("PRESENT", deep=False)


def test_what_is_damaged_is_found_and_made_again(at):
    at.make()
    at.made.write_text("bitter\n")
    assert at.is_("PRESENT", deep=False), "sizes are equal: only reading tells"
    assert at.is_("DAMAGED")
    at.made.write_text("shorter\nlonger\n")
    assert at.is_("DAMAGED", deep=False)
    assert at.make() is not None
    assert at.is_("PRESENT")


def test_a_program_that_says_another_version_is_not_kept(at):
    at.commands.says = "thing 1.2.4"
    with pytest.raises(AvadmError, match="does not say its version") as caught:
        at.make()
    assert caught.value.findings[0].found == "thing 1.2.4"
    assert at.is_("ABSENT", deep=False)


def test_a_module_with_another_checksum_is_refused(at):
    at.commands.sum = "h1:wrong"
    finding, *_ = refused(at.make)
    assert (finding.found, finding.wanted) == ("h1:wrong", "h1:right")


def test_a_text_that_is_not_there_is_an_error_not_a_skip(at):
    (at.commands.module / "main.go").chmod(0o644)
    (at.commands.module / "main.go").write_text("other\n")
    with pytest.raises(AvadmError, match=r"change src/main\.go"):
        at.make()


def test_a_failed_step_names_the_log_and_leaves_what_was_there(at):
    at.make()
    at.commands.fails = "build"
    made, findings = at.maker(again=True).make([at.artifact], 2)
    assert made == []
    assert [(f.where, f.found) for f in findings] == [(str(at.store.log(at.artifact)), "it is broken")]
    assert at.is_("PRESENT")


def test_two_builds_at_once_build_once(at):
    first_is_at_work, commands = threading.Event(), at.commands

    class Slow(FakeCommands):
        def run(self, argv, **kwargs):
            first_is_at_work.set()
            time.sleep(0.1)
            return super().run(argv, **kwargs)

    at.commands = Slow(commands.module)
    one = threading.Thread(target=at.make)
    one.start()
    first_is_at_work.wait(5)
    at.commands, at.messages = commands, []
    assert at.make() is None
    one.join()
    assert [text for text in at.messages if "another" in text or "already" in text] == [
        "another avadm builds it: waiting",
        "there already",
    ]
    assert commands.asked == []


def test_without_go_the_remedy_is_named(at):
    class NoGo(LocalCommands):
        def run(self, argv, **kwargs):
            return super().run(["no-such-go", *argv[1:]], **kwargs)

    at.commands = NoGo()
    with pytest.raises(AvadmError, match="no go here"):
        at.make()


def test_commands_are_logged_heard_and_ended_when_stopped(tmp_path):
    commands, heard, log = LocalCommands(), [], tmp_path / "log"
    more = {"cwd": tmp_path, "env": {}, "log": log}
    done = commands.run(["sh", "-c", "echo out; echo err >&2; exit 3"], heard=heard.append, **more)
    assert (done.rc, done.stdout, done.stderr_lines, heard) == (3, "out\n", ("err",), ["err"])
    assert "err\n" in log.read_text()
    started = time.monotonic()
    threading.Timer(0.3, commands.stop).start()
    with pytest.raises(Stopped):
        commands.run(["sleep", "30"], **more)
    assert time.monotonic() - started < 10

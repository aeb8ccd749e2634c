import os

import pytest

from avadm_lab.docker import engine as module
from avadm_lab.docker.engine import Engine
from avadm_lab.process import LocalProc, end, start_ticks
from tests.unit.fakes.errors import refused
from tests.unit.lab.fakes import FakeProc, Reporter

GONE = 2**22 + 1  # above the kernel's largest pid


@pytest.fixture
def proc():
    proc = FakeProc()
    proc.on("docker version", rc=1, stderr="Cannot connect")

    def spawn(argv):
        proc.on("docker version", "20.10")
        return os.getpid()

    proc.on_spawn = spawn
    return proc


@pytest.fixture
def engine(proc, tmp_path):
    return Engine(proc, tmp_path / "engine", tmp_path / "docker.pid", tmp_path / "containerd.pid")


def test_an_engine_that_answers_is_used_and_never_ended(engine, proc):
    proc.on("docker version", "20.10")
    assert not engine.ensure(Reporter())
    assert not engine.stop(Reporter())
    assert proc.spawned == []


def test_started_where_none_answers(engine, proc):
    assert engine.ensure(Reporter())
    assert proc.spawned == [["dockerd"]]


@pytest.mark.parametrize(
    "content", [str(GONE), str(os.getpid()), "", "nonsense"], ids=["gone", "another", "empty", "nonsense"]
)
def test_stale_pid_files_are_removed_first(engine, proc, content):
    engine.pidfile.write_text(content)
    engine.containerd_pidfile.write_text(content)
    reply = Reporter()
    assert engine.ensure(reply)
    assert not engine.pidfile.exists()
    assert not engine.containerd_pidfile.exists()
    assert "docker.pid" in reply.notes[0]


def test_a_living_daemon_that_does_not_answer_yet_is_waited_for(engine, proc, monkeypatch):
    engine.pidfile.write_text(str(os.getpid()))
    monkeypatch.setattr(module, "program", lambda pid: "dockerd")
    answers = iter([1, 1, 0])
    proc.call("docker version", lambda argv: (next(answers), "", ""))
    monkeypatch.setattr(module.time, "sleep", lambda s: None)
    assert not engine.ensure(Reporter())
    assert proc.spawned == []
    assert engine.pidfile.exists()


def test_one_that_dies_is_reported_with_the_end_of_its_log(engine, proc):
    proc.on_spawn = lambda argv: GONE
    engine.store.mkdir()
    (engine.store / "dockerd.log").write_text("info\nfailed to start daemon: no iptables\n")
    assert "no iptables" in refused(engine.ensure, Reporter())[0].found


@pytest.fixture
def started(engine):
    """The pid of a daemon that the engine's record names."""
    pid = LocalProc().spawn(["sleep", "60"], engine.store / "log")
    ticks = start_ticks(pid)
    engine._record.write_text(f'{{"pid": {pid}, "ticks": {ticks}}}')
    yield pid
    end(pid, ticks)


def test_ends_the_one_that_it_started(engine, proc, started):
    proc.on("docker ps", "")
    assert engine.stop(Reporter())
    assert start_ticks(started) is None
    assert not engine.stop(Reporter())


@pytest.mark.parametrize(
    ("answer", "why"), [(("other-stor1\n", 0), "other-stor1"), (("", 1, "no answer"), "no answer")]
)
def test_stays_while_a_container_may_run(engine, proc, started, answer, why):
    proc.on("docker ps", *answer)
    reply = Reporter()
    assert not engine.stop(reply)
    assert start_ticks(started) is not None
    assert why in reply.notes[0]
    proc.on("docker ps", "")
    assert engine.stop(reply), "the record is kept for the next time"


def test_a_pid_given_out_again_is_not_ended(tmp_path):
    engine = Engine(FakeProc(), tmp_path)
    engine._record.write_text(f'{{"pid": {os.getpid()}, "ticks": 1}}')
    assert not engine.stop(Reporter())

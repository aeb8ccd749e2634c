import pytest

from avadm_lab.docker import engine_flags
from avadm_lab.docker.client import Docker
from tests.unit.fakes.errors import refused
from tests.unit.lab.fakes import FakeProc, Reporter


@pytest.fixture
def proc(monkeypatch):
    monkeypatch.setattr(engine_flags, "_PATIENCE_S", 0.01)
    monkeypatch.setattr(engine_flags.time, "sleep", lambda s: None)
    proc = FakeProc()
    proc.on("docker info", "20.10 6.1 cgroup v2 systemd\n")
    proc.on("is-system-running", "running\n")
    return proc


def choose(proc, tmp_path, reporter=None):
    return engine_flags.choose(Docker(proc), "image", "lab", tmp_path / "flags.json", reporter or Reporter())


def test_the_least_powerful_that_works_is_chosen(proc, tmp_path):
    reply = Reporter()
    chosen = choose(proc, tmp_path, reply)
    assert "--privileged" not in chosen
    assert "SYS_TIME" in chosen
    assert "capabilities" in reply.notes[0]


def test_where_a_capability_is_missing_the_next_is_tried(proc, tmp_path):
    proc.on("docker run", rc=125, stderr="operation not permitted")
    proc.on("docker run .*SYS_RESOURCE", "id")
    assert "SYS_RESOURCE" in choose(proc, tmp_path)


def test_privileged_where_only_that_works(proc, tmp_path):
    proc.on("is-system-running", "", rc=1)
    proc.call(
        "docker run .*--privileged", lambda argv: (proc.on("is-system-running", "running"), (0, "", ""))[1]
    )
    assert "--privileged" in choose(proc, tmp_path)


def test_answer_is_remembered_for_the_same_engine(proc, tmp_path):
    choose(proc, tmp_path)
    runs = len(proc.ran("docker run"))
    choose(proc, tmp_path)
    assert len(proc.ran("docker run")) == runs


def test_another_kernel_is_tried_again(proc, tmp_path):
    choose(proc, tmp_path)
    proc.on("docker info", "20.10 6.2 cgroup v2 systemd\n")
    choose(proc, tmp_path)
    assert len(proc.ran("docker run")) == 2


def test_throw_away_containers_are_thrown_away(proc, tmp_path):
    choose(proc, tmp_path)
    assert proc.calls[-1] == "docker rm -f avadm-lab-probe"


def test_nothing_works_is_reported_with_each_reason(proc, tmp_path):
    proc.on("docker run", rc=125, stderr="operation not permitted")
    assert refused(choose, proc, tmp_path)[0].found.count("operation not permitted") == len(
        engine_flags.CANDIDATES
    )


def test_open_files_as_many_as_the_daemon_may_have(tmp_path):
    (tmp_path / "pid").write_text("self-is-not-a-pid")
    kind, value = engine_flags.nofile(tmp_path / "pid")
    soft, hard = value.removeprefix("nofile=").split(":")
    assert kind == "--ulimit"
    assert soft == hard
    assert 0 < int(hard) <= 1048576

import itertools
import json
import os
import socket
from functools import partial
from ipaddress import IPv4Address

import pytest

from avadm.errors import AvadmError
from avadm_lab import cacher
from avadm_lab.cacher import Cacher
from avadm_lab.process import LocalProc, start_ticks
from tests.unit.fakes.errors import refused
from tests.unit.lab.fakes import FakeProc

HERE = IPv4Address("127.0.0.1")


@pytest.fixture
def listening(monkeypatch):
    """A port on which something answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(cacher, "answers", lambda address, pid: True)
        yield server


def owner(store, slot, lab, pid):
    (store / slot).mkdir(parents=True)
    (store / slot / "owner.json").write_text(json.dumps({"lab": lab, "pid": pid, "ticks": start_ticks(pid)}))


@pytest.fixture
def start(tmp_path):
    """Return a function: what is started for a lab."""

    def start():
        proc = FakeProc()
        proc.on_spawn = lambda argv: os.getpid()
        assert Cacher(proc, tmp_path, "lab", HERE).ensure() is bool(proc.spawned)
        return [" ".join(argv) for argv in proc.spawned]

    return start


@pytest.mark.usefixtures("listening")
def test_starts_on_the_gateway_address_only(tmp_path, start):
    assert start() == [f"/usr/sbin/apt-cacher-ng -c {tmp_path}/1/conf"]
    conf = (tmp_path / "1/conf/acng.conf").read_text()
    assert "BindAddress: 127.0.0.1\n" in conf
    assert f"CacheDir: {tmp_path}/1/cache\n" in conf


def test_a_living_daemon_is_left_alone(tmp_path, listening, start):
    owner(tmp_path, "1", "lab", os.getpid())
    assert start() == []


def test_two_labs_never_share_a_cache_folder(tmp_path, listening, start):
    owner(tmp_path, "1", "other", os.getpid())
    assert start()[0].endswith(f" {tmp_path}/2/conf")


DEAD = json.dumps({"lab": "other", "pid": 2**22 + 1, "ticks": 5})


@pytest.mark.parametrize("text", [DEAD, "", "[]", "{}", '{"lab": "lab", "pid": null}'])
def test_a_dead_labs_cache_is_used_again_and_one_of_a_damaged_owner_file(tmp_path, listening, start, text):
    (tmp_path / "1").mkdir()
    (tmp_path / "1/owner.json").write_text(text)
    assert start()[0].endswith(f" {tmp_path}/1/conf")


def test_daemon_that_dies_at_once_is_reported_with_its_last_words(tmp_path, monkeypatch):
    monkeypatch.setattr(cacher, "answers", lambda address, pid: False)
    monkeypatch.setattr(cacher, "_PROGRAM", "/bin/false")
    assert refused(Cacher(LocalProc(), tmp_path, "lab", HERE).ensure)[0].check == "lab-apt-cache"


def test_a_daemon_that_does_not_get_the_port_is_reported_and_ended(tmp_path, monkeypatch):
    clock = itertools.count()
    monkeypatch.setattr(cacher.time, "monotonic", lambda: next(clock))
    proc = FakeProc()
    pid = LocalProc().spawn(["sleep", "60"], tmp_path / "1/log/daemon.log")
    proc.on_spawn = lambda argv: pid
    with socket.create_server(("127.0.0.1", 0)) as another:
        monkeypatch.setattr(cacher, "answers", partial(cacher.answers, port=another.getsockname()[1]))
        with pytest.raises(AvadmError):
            Cacher(proc, tmp_path, "lab", HERE).ensure()
    assert start_ticks(pid) is None


def test_stop_ends_only_our_own(tmp_path):
    proc = LocalProc()
    ours, theirs = (proc.spawn(["sleep", "60"], tmp_path / "log") for _ in range(2))
    owner(tmp_path, "1", "other", theirs)
    owner(tmp_path, "2", "lab", ours)
    assert Cacher(proc, tmp_path, "lab", HERE).stop()
    assert start_ticks(ours) is None
    assert start_ticks(theirs) is not None
    assert Cacher(proc, tmp_path, "other", HERE).stop()

"""Clients of loads that run on nodes: each reports a loss, an error and a pause that is planted, and none outlives its block."""

import http.server
import os
import signal
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.lab.day2.loads import database, on_node, storage
from tests.lab.day2.loads.load import Load, together
from tests.lab.day2.loads.on_node import NodeClient, first, steady
from tests.lab.day2.loads.stream import Stream
from tests.lab.waiting import until
from tests.unit.loads.one_machine import OneMachine

# They judge the tests of day two, which are slow as well.
pytestmark = pytest.mark.slow


@pytest.fixture
def lab(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "MOUNT", str(tmp_path / "mount"))
    monkeypatch.setattr(storage, "EVERY_S", 0.02)
    monkeypatch.setattr(database, "EVERY_S", 0.02)
    return OneMachine(tmp_path)


@pytest.fixture
def sql(lab):
    """The load Q; its table is the folder of the library that stands for the driver."""
    found = SimpleNamespace(
        lab=lab,
        nodes=["n1"],
        vip="127.0.0.1",
        password="secret",
        ask=lambda *_: SimpleNamespace(returncode=0, stderr=""),
    )
    return database.sql(found)


def more(stream, count=3):
    """Wait until a stream has been answered more often than now."""
    wanted = len(stream.good) + count
    until(lambda: len(stream.good) >= wanted, 20, 0.02)


def lose_file(lab):
    next((lab.folder / "mount").rglob("0/1")).write_bytes(b"x")


def lose_object(lab):
    next((lab.lib / "store").rglob("1")).write_bytes(b"x")


def lose_row(lab):
    (lab.lib / "rows" / "1").unlink()


def lose_block(lab):
    (lab.bin / "broken").touch()


def test_a_good_load_of_storage_has_no_error_no_loss_and_is_removed(lab):
    with storage.storage(lab) as load:
        for stream in load.streams.values():
            more(stream)
    words = load.good({"cephfs": 60, "rbd": 60, "s3": 60})
    assert [one.stream for one in load.results()] == ["cephfs", "rbd", "s3"]
    assert all(one.acknowledged >= 3 for one in load.results()), words
    assert not list((lab.folder / "mount").glob("*"))
    assert not [p for p in (lab.lib / "store").rglob("*") if p.is_file()]


def test_a_good_load_of_the_database_has_no_error_and_no_loss(sql):
    with sql as load:
        more(load.streams["rows"])
    assert "0 lost, 0 errors" in load.good({"rows": 60})


@pytest.mark.parametrize(
    ("stream", "plant"), [("cephfs", lose_file), ("s3", lose_object), ("rbd", lose_block)]
)
def test_a_loss_in_storage_is_reported(lab, stream, plant):
    with storage.storage(lab) as load:
        more(load.streams[stream])
        plant(lab)
    (bad,) = (one for one in load.results() if one.lost)
    assert bad.stream == stream
    with pytest.raises(AssertionError, match=f"S {stream}: .* [1-9][0-9]* lost"):
        load.good()


def test_a_lost_row_is_reported(lab, sql):
    with sql as load:
        more(load.streams["rows"])
        lose_row(lab)
    assert load.results()[0].lost == ["1"]
    with pytest.raises(AssertionError, match="1 lost"):
        load.good()


@pytest.mark.parametrize(("stream", "place"), [("s3", "lib/store/away"), ("rbd", "bin/away")])
def test_an_error_in_storage_is_reported_and_is_no_loss(lab, stream, place):
    with storage.storage(lab) as load:
        (lab.folder / place).touch()
        until(lambda: load.streams[stream].errors, 10, 0.05)
        (lab.folder / place).unlink()
    (bad,) = (one for one in load.results() if one.errors)
    assert (bad.stream, bad.lost) == (stream, [])
    with pytest.raises(AssertionError, match=f"S {stream}"):
        load.good()


def test_a_database_that_is_away_is_an_error_and_a_pause_that_ends(lab, sql):
    with sql as load:
        (lab.lib / "rows" / "away").touch()
        time.sleep(1.2)
        (lab.lib / "rows" / "away").unlink()
        more(load.streams["rows"])
    (found,) = load.results()
    assert found.errors and "server closed the connection" in found.errors[0]
    assert found.lost == []
    assert found.pause_s >= 1.1
    with pytest.raises(AssertionError, match="longest pause"):
        load.good({"rows": 1})


def test_a_gap_in_the_log_of_fio_is_the_pause_of_the_image(lab):
    load = Load("S", {"rbd": storage.storage(lab).parts["rbd"]})
    with load:
        (lab.bin / "slow").touch()
        more(load.streams["rbd"], 20)
        (lab.bin / "slow").unlink()
    assert load.results()[0].pause_s >= 1.4
    with pytest.raises(AssertionError, match="S rbd"):
        load.good({"rbd": 1})


@pytest.mark.parametrize("stream", ["cephfs", "s3"])
def test_a_client_that_stands_still_is_a_pause(lab, stream, monkeypatch):
    made = []
    began = NodeClient.__init__

    def noted(self, *words, **job):
        began(self, *words, **job)
        made.append(self)

    monkeypatch.setattr(NodeClient, "__init__", noted)
    load = Load("S", {stream: storage.storage(lab).parts[stream]})
    with load:
        os.kill(made[0]._process.pid, signal.SIGSTOP)
        time.sleep(1.2)
        os.kill(made[0]._process.pid, signal.SIGCONT)
        more(load.streams[stream])
    assert load.results()[0].pause_s >= 1.1
    with pytest.raises(AssertionError, match="longest pause"):
        load.good({stream: 1})


@pytest.fixture
def site():
    """A service; ``fails`` and ``sleeps`` are what its next answers do."""
    state = SimpleNamespace(fails=False, sleeps=0.0)

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            time.sleep(state.sleeps)
            self.send_response(503 if state.fails else 200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        state.url = f"http://127.0.0.1:{server.server_port}/"
        yield state
        server.shutdown()


def test_requests_that_fail_or_wait_are_reported(lab, site):
    stream = Stream("K", "service")
    with steady(lab, "n1", stream, kind="requests", url=site.url, every=0.02, timeout=5):
        site.fails = True
        until(lambda: stream.errors, 10, 0.02)
        site.fails, site.sleeps = False, 1.2
        more(stream, 1)
        site.sleeps = 0.0
        more(stream)
    found = stream.result()
    assert "503" in found.errors[0]
    assert found.pause_s >= 1.1


def test_a_client_that_dies_with_its_node_is_an_error_and_a_pause_until_the_end(lab):
    stream = Stream("Q", "rows")
    with steady(
        lab, "n1", stream, kind="files", every=0.02, folder=str(lab.folder / "x"), seed="s", size=64
    ) as client:
        client._process.kill()
        time.sleep(1)
    assert "did not end by itself" in stream.result().errors[0]
    assert stream.result().pause_s >= 0.9


def test_no_process_is_left_after_a_test_that_failed(lab, sql):
    clients = []
    with pytest.raises(RuntimeError), together([storage.storage(lab), sql]):
        clients += running()
        raise RuntimeError
    assert len(clients) >= 4
    assert not running()
    assert not list((lab.folder / "mount").glob("*"))


def running():
    """Return the process ids of clients of a load that are children of this process."""
    return [path.name for path in Path("/proc").glob("[0-9]*") if ours(path)]


def ours(process):
    """Whether a process is a child of this one and a client of a load."""
    try:
        state, parent = (process / "stat").read_text().rpartition(")")[2].split()[:2]
        words = (process / "cmdline").read_text()
    except OSError:
        return False
    return parent == str(os.getpid()) and state != "Z" and "b64decode" in words


def test_a_load_that_never_works_fails_its_test_and_leaves_no_process(lab, monkeypatch):
    monkeypatch.setattr(on_node.first, "__defaults__", (0.5,))
    stream = Stream("K", "service")
    with (
        pytest.raises(AssertionError, match="K service is not at work"),
        steady(lab, "n1", stream, kind="requests", url="http://127.0.0.1:1/", every=0.1, timeout=1),
    ):
        raise AssertionError("the block must not be entered")
    assert not running()


def test_a_stream_without_an_answer_is_one_long_pause():
    stream = Stream("S", "rbd", began=100.0)
    stream.acknowledge("a", 101.0)
    stream.end(141.0)
    assert (stream.result().pause_s, stream.result().pause_at) == (40.0, "1970-01-01T00:01:41Z")
    with pytest.raises(AssertionError, match="not at work"):
        first(stream, 0.1)


def test_passwords_are_in_no_process_arguments():
    assert "secret" not in on_node.command()

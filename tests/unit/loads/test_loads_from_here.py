"""Clients of loads that run on this machine: the API's writer, AVA's user; each reports what is planted."""

import contextlib
import subprocess
import time
from types import SimpleNamespace

import pytest

from ava.client.transport import Unreachable
from tests.lab.day2.loads import ava, kubernetes
from tests.lab.day2.loads.ava import Session, Training
from tests.lab.day2.loads.load import Load
from tests.lab.day2.loads.stream import Stream
from tests.lab.kubernetes import probe
from tests.lab.waiting import until
from tests.unit.loads.one_machine import OneMachine


class FakeApi:
    """The API of Kubernetes: stores names; ``away`` makes it refuse, ``lost`` names are gone."""

    stored, lost, away = [], set(), False

    def __init__(self, *_):
        pass

    def ask(self, method, path, body=None, timeout=None):
        if self.away:
            raise ConnectionRefusedError
        if method == "POST":
            self.stored.append(body["metadata"]["name"])
            return 201, b""
        names = [{"metadata": {"name": name}} for name in self.stored if name not in self.lost]
        return 200, probe.json.dumps({"items": names}).encode()


@pytest.fixture
def api(monkeypatch, tmp_path):
    monkeypatch.setattr(probe, "EVERY", 0.02)
    monkeypatch.setattr(kubernetes, "Api", FakeApi)
    for name, value in (("stored", []), ("lost", set()), ("away", False)):
        monkeypatch.setattr(FakeApi, name, value)
    kube = SimpleNamespace(lab=OneMachine(tmp_path), ctl=lambda command: "")
    return Load("K", {"api": lambda stream: kubernetes.api(kube, (), stream)})


def test_a_good_writer_has_nothing_to_report(api):
    with api:
        time.sleep(0.3)
    assert "0 lost, 0 errors" in api.good({"api": 5})


def test_a_lost_object_is_reported_with_the_master_that_has_it_not(api):
    with api:
        FakeApi.lost.add("written-1")
    assert api.results()[0].lost == ["n1: written-1"]
    with pytest.raises(AssertionError, match=r"K api: .* 1 lost"):
        api.good()


def test_an_api_that_refuses_is_an_error_and_a_pause_also_where_it_does_not_come_back(api):
    with api:
        FakeApi.away = True
        time.sleep(0.6)
        # What is read back at the end is answered again.
        FakeApi.away = False
    (found,) = api.results()
    assert "ConnectionRefusedError" in found.errors[0]
    assert found.pause_s >= 0.5


class FakeAva:
    """AVA's client: runs succeed at once; ``away`` makes it refuse, ``ends`` is how the next runs end."""

    def __init__(self):
        self.runs, self.lines, self.away, self.ends = {}, {}, False, "succeeded"

    def _asked(self):
        if self.away:
            raise refusal()

    def me(self):
        self._asked()

    def start(self, name, spec):
        self._asked()
        run = f"{name}-{len(self.runs)}"
        self.runs[run] = self.ends
        return SimpleNamespace(id=run)

    def run(self, run):
        return SimpleNamespace(state=self.runs[run], reason="")

    def stop(self, run):
        self.runs[run] = "stopped"

    def logs(self, run, tail, since=None):
        return self.lines.get(run, [])


def refusal():
    return Unreachable("https://ava", "503")


@pytest.fixture
def client(monkeypatch):
    monkeypatch.setattr(ava, "ASK_S", 0.02)
    monkeypatch.setattr(ava, "SUBMIT_S", 0.1)
    monkeypatch.setattr(ava, "END_S", 2)
    return FakeAva()


def submitting(client):
    return Load("A", {"submit": lambda stream: ava.submitted(lambda: client, "image", stream)})


def test_runs_that_are_submitted_and_succeed_are_good(client):
    with (load := submitting(client)):
        time.sleep(0.5)
    assert load.good({"submit": 2})
    assert len(client.runs) >= 3


def test_an_acknowledged_run_that_does_not_succeed_is_lost(client):
    with (load := submitting(client)):
        client.ends = "lost"
        until(lambda: "lost" in client.runs.values(), 5, 0.02)
    assert "is lost" in load.results()[0].lost[0]
    with pytest.raises(AssertionError, match="A submit"):
        load.good()


def test_a_platform_that_refuses_is_an_error_and_a_pause(client):
    with (load := submitting(client)):
        client.away = True
        time.sleep(0.8)
        client.away = False
        time.sleep(0.2)
    (found,) = load.results()
    assert found.errors
    assert found.pause_s >= 0.7


def line(text, at):
    return SimpleNamespace(text=text, time=SimpleNamespace(timestamp=lambda: at))


def trained(client, *lines):
    """Return a training of which so many lines were logged, and its stream."""
    stream = Stream("A", "training", began=0.0)
    training = Training(client, "image", stream)
    client.runs[training.run] = "running"
    client.lines[training.run] = [line(text, at) for at, text in enumerate(lines)]
    training.look()
    return training, stream


def test_a_training_that_resumes_at_its_checkpoint_has_lost_nothing(client):
    training, stream = trained(client, "resumed 0", "step 1", "step 2", "resumed 2", "step 3")
    training.compare([["segment", "1", "3"], ["last", "3"]])
    assert (stream.kept, stream.lost) == ([1, 2, 3], [])


def test_a_training_that_resumes_before_an_acknowledged_step_has_lost_it(client):
    _, stream = trained(client, "resumed 0", "step 1", "step 2", "resumed 1", "step 2")
    assert stream.lost == ["resumed at 1, 2 was acknowledged"]


def test_a_checkpoint_without_acknowledged_steps_has_lost_them_and_its_times_are_the_pauses(client):
    training, stream = trained(client, "resumed 0", "step 1", "step 2", "step 3")
    training.compare([["missing", "1"], ["segment", "0", "1"], ["segment", "31", "32"], ["last", "2"]])
    stream.end(32)
    assert stream.lost == ["step 1", "steps 3 to 3"]
    assert stream.result().pause_s == 30


def test_a_training_that_was_ended_is_started_again(client):
    training, _ = trained(client, "resumed 0", "step 1")
    first = training.run
    client.runs[first] = "stopped"
    client.ends = "running"
    training.look()
    assert training.run != first


def test_the_programs_of_the_training_and_its_reader_agree(tmp_path):
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    program = ava.TRAINING.replace("NAME", "c").replace("sleep(1)", "sleep(0.05)")
    for number in (1, 2):
        with subprocess.Popen(["python3", "-c", program], env=env, stdout=subprocess.PIPE, text=True) as it:
            seen = [it.stdout.readline() for _ in range(4)]
            it.kill()
        if number == 1:
            assert seen[:2] == ["resumed 0\n", "step 1\n"]
            time.sleep(1.2)
    reader = ava.CHECKPOINT.replace("NAME", "c").replace("SEGMENT", "1").replace("sleep(5)", "sleep(0)")
    done = subprocess.run(["python3", "-c", reader], env=env, capture_output=True, text=True, check=True)
    words = [row.split() for row in done.stdout.splitlines()]
    assert [row[0] for row in words] == ["segment", "segment", "last"]
    assert float(words[1][1]) - float(words[0][2]) >= 1.1


def test_a_session_that_is_cut_is_an_error_and_is_opened_again(client, tmp_path):
    stream = Stream("A", "ssh")
    pids = tmp_path / "pids"
    made = Session(["sh", "-c", f"echo $$ >> {pids}; exec cat"], stream)
    with ava.background(made.work):
        until(lambda: len(stream.good) >= 3, 5, 0.02)
        subprocess.run(["kill", pids.read_text().split()[-1]], check=True)
        until(lambda: len(pids.read_text().split()) == 2, 5, 0.02)
        count = len(stream.good)
        until(lambda: len(stream.good) > count, 5, 0.02)
    assert [text for _, text in stream.errors] == ["the session was cut"]


def test_a_session_that_does_not_answer_is_a_pause(client):
    stream = Stream("A", "ssh")
    with (
        ava.background(Session(["sh", "-c", "head -n 3; exec sleep 60"], stream).work),
        contextlib.suppress(AssertionError),
    ):
        until(lambda: len(stream.good) >= 9, 1, 0.05)
    stream.end()
    assert stream.result().pause_s >= 0.8

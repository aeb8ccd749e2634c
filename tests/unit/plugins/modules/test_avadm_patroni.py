"""avadm_patroni: which settings of the cluster differ, and what is sent to change them."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import pytest
from avadm_patroni import differing

from tests.unit.fakes.running import module


@pytest.mark.parametrize(
    ("wanted", "found", "names"),
    [
        ({"ttl": 20}, {"ttl": 20, "loop_wait": 5}, []),
        ({"ttl": 20}, {"ttl": 30}, ["ttl"]),
        ({"ttl": 20}, None, ["ttl"]),
        ({"postgresql": {"use_pg_rewind": True}}, {"postgresql": {"use_pg_rewind": True, "parameters": {}}}, []),
        ({"postgresql": {"use_pg_rewind": True}}, {"postgresql": None}, ["postgresql.use_pg_rewind"]),
        ({"postgresql": {"use_pg_rewind": True}}, {"postgresql": 1}, ["postgresql"]),
        ({"failsafe_mode": None}, {"failsafe_mode": True}, ["failsafe_mode"]),
        ({"failsafe_mode": None}, {}, []),
    ],
)  # fmt: skip
def test_what_differs_is_named_and_what_others_set_is_left_alone(wanted, found, names):
    assert differing(wanted, found) == names


class Patroni(BaseHTTPRequestHandler):
    """Patroni's interface, as far as settings go."""

    settings: ClassVar = {}
    answers: ClassVar = []
    asked: ClassVar = []

    def do_GET(self):
        self.answer(200, self.settings)

    def do_PATCH(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status = self.answers.pop(0) if self.answers else 200
        self.asked.append((self.path, self.headers["Authorization"], status))
        if status == 200:
            self.settings.update(body)
        self.answer(status, {})

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *words):
        pass


@pytest.fixture
def patroni():
    Patroni.settings, Patroni.answers, Patroni.asked = {"ttl": 30, "loop_wait": 5}, [], []
    server = HTTPServer(("127.0.0.1", 0), Patroni)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def run(url, **more):
    return module("avadm_patroni", url=url, password="word", settings={"ttl": 20}, **more)


def test_a_change_is_sent_once_by_the_user_of_the_interface(patroni):
    reply, _ = run(patroni)
    assert (reply["changed"], reply["differing"]) == (True, ["ttl"])
    assert Patroni.settings == {"ttl": 20, "loop_wait": 5}
    assert Patroni.asked == [("/config", "Basic cGF0cm9uaTp3b3Jk", 200)]
    assert run(patroni)[0]["changed"] is False
    assert len(Patroni.asked) == 1


def test_nothing_is_sent_in_check_mode(patroni):
    assert run(patroni, _ansible_check_mode=True)[0]["changed"] is True
    assert Patroni.asked == []


def test_what_another_member_changes_meanwhile_is_looked_at_again(patroni):
    Patroni.answers[:] = [409]
    reply, _ = run(patroni)
    assert (reply["changed"], Patroni.settings["ttl"]) == (True, 20)
    assert [status for *_, status in Patroni.asked] == [409, 200]


@pytest.mark.parametrize("status", [401, 503])
def test_a_refusal_is_reported_with_what_was_not_changed_and_without_the_password(patroni, status):
    Patroni.answers[:] = [status]
    reply, text = run(patroni)
    assert reply["failed"]
    assert f"did not change ttl: HTTP Error {status}" in reply["msg"]
    assert "word" not in text.replace("password", "")
    assert len(Patroni.asked) == 1


def test_no_answer_is_reported(patroni):
    reply, _ = run("http://127.0.0.1:1")
    assert reply["failed"]
    assert "does not tell its settings" in reply["msg"]

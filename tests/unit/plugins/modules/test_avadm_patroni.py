"""avadm_patroni: which settings of the cluster differ, and what is sent to change them."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from avadm_patroni import change, differing


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


def test_a_change_is_sent_by_the_user_of_the_interface():
    came = []

    class Patroni(BaseHTTPRequestHandler):
        def do_PATCH(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            came.append((self.path, self.headers["Authorization"], json.loads(body)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *words):
            pass

    server = HTTPServer(("127.0.0.1", 0), Patroni)
    thread = threading.Thread(target=server.handle_request)
    thread.start()
    change(f"http://127.0.0.1:{server.server_port}", None, "word", {"ttl": 20})
    thread.join()
    server.server_close()
    assert came == [("/config", "Basic cGF0cm9uaTp3b3Jk", {"ttl": 20})]

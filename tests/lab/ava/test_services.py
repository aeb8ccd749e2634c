"""A service on the lab as its callers see it: through the ingress, while it is updated, scaled and hurt; and who gets in."""

import json
import ssl
import threading
import time

import pytest

from ava.client import Client
from tests.http_request import ask
from tests.lab.ava.user_journey import ENDED, SMALL
from tests.lab.waiting import until

pytestmark = [pytest.mark.lab, pytest.mark.slow]
PROGRAM = """
import http.server, json, os, socket
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        received = {"version": %r, "pod": socket.gethostname(), "heard": dict(self.headers)}
        text = json.dumps(received).encode()
        self.send_response(200 if %r != "bad" else 500)
        self.send_header("Content-Length", str(len(text)))
        self.send_header("Set-Cookie", "mine=1; Domain=lab.test")
        self.end_headers()
        self.wfile.write(text)
    do_POST = do_GET
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("", int(os.environ["AVA_PORT"])), Answer).serve_forever()
"""


class Service:
    """A service and its callers."""

    def __init__(self, day, platform, authority):
        self.day, self.platform = day, platform
        self.context = ssl.create_default_context(cafile=authority)
        self.token = day.user.make_token("caller").token

    def spec(self, version, replicas=2, **serving):
        program = PROGRAM % (version, version)
        report = {"model": "/m", "port": 8000, "starts_in": 20} | serving
        roles = [{"replicas": replicas, "each": {**SMALL}}]
        command = ["python3", "-c", program]
        return {
            "kind": "service",
            "image": self.day.image,
            "command": command,
            "roles": roles,
            "serving": report,
        }

    def submit(self, version, **more):
        return self.day.user.start("echo", self.spec(version, **more)).id

    def until(self, run, wanted, seconds=120):
        def reached():
            found = self.day.user.service(run)
            return found if wanted(found) else None

        return until(reached, seconds, report=lambda: self.day.user.service(run))

    def ask(self, host, token=None, path="/", **headers):
        """Return status, headers and body of one request through the ingress."""
        return ask(host, (self.platform.address, 443), token, path, self.context, **headers)


class Callers:
    """Call a service again and again, and keep what came of it."""

    def __init__(self, service, host, count=3, pause=0.1):
        self.service, self.host, self.pause = service, host, pause
        self.good, self.bad, self.versions = 0, [], set()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._call) for _ in range(count)]

    def _call(self):
        while not self._stop.is_set():
            try:
                status, _, body = self.service.ask(self.host, self.service.token)
                if status == 200:
                    self.good += 1
                    self.versions.add(json.loads(body)["version"])
                else:
                    self.bad.append((time.time(), status, body[:200]))
            except OSError as error:
                self.bad.append((time.time(), repr(error)))
            self._stop.wait(self.pause)

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join(30)


@pytest.fixture(scope="module")
def service(day, platform, authority):
    return Service(day, platform, authority)


@pytest.fixture(scope="module")
def echo(service):
    """The service ``echo`` of two replicas: its run and its host name."""
    run = service.submit("1")
    found = service.until(run, lambda s: s.ready == 2)
    host = found.address.removeprefix("https://").removesuffix("/")
    until(lambda: service.ask(host, service.token)[0] == 200, 30)
    yield run, host
    service.day.user.stop(run)
    service.day.until(run, *ENDED)


def test_no_request_fails_while_it_is_updated_and_scaled(service, echo):
    run, host = echo
    with Callers(service, host) as callers:
        time.sleep(2)
        began = time.monotonic()
        assert service.submit("2") == run
        service.until(run, lambda s: s.settled == 1 and s.ready == 2)
        updated = time.monotonic() - began
        service.day.user.scale(run, 4)
        service.until(run, lambda s: s.ready == 4)
        service.day.user.scale(run, 2)
        service.until(run, lambda s: s.ready == 2 and s.charged.cpu == 2 * SMALL["cpu"])
        time.sleep(3)
    assert callers.bad == []
    assert callers.versions == {"1", "2"}
    assert callers.good > 100
    print(f"{callers.good} requests, none failed; updated in {updated:.0f} s")


def test_a_bad_update_stops_and_every_request_is_answered_by_what_was_there(service, echo):
    run, host = echo
    with Callers(service, host) as callers:
        before = service.day.user.service(run).settled
        assert service.submit("bad", starts_in=5) == run
        trouble = service.until(run, lambda s: s.trouble).trouble
        assert "stopped" in trouble
        assert service.day.user.run(run).state == "running"
        assert service.submit("2") == run
        service.until(
            run, lambda s: s.revision == before and not s.trouble and s.charged.cpu == 2 * SMALL["cpu"]
        )
    assert callers.bad == []
    assert callers.versions == {"2"}


def test_a_replica_that_is_killed_comes_back_and_the_other_goes_on(service, echo, lab, platform):
    run, host = echo
    space = f"ava-{service.day.group}"
    (pod, *_) = [p.name for p in service.day.user.pods(run)]
    lab.sh(platform.master, f"kubectl delete pod --namespace {space} {pod} --grace-period=0 --force")
    service.until(run, lambda s: s.ready == 2)
    assert pod not in {p.name for p in service.day.user.pods(run) if p.phase != "Running"}
    assert [service.ask(host, service.token)[0] for _ in range(10)] == [200] * 10
    # One that ends by itself, even well, is started again by its node, and the run continues.
    other = service.day.user.pods(run)[0].name
    lab.sh(platform.master, f"kubectl exec --namespace {space} {other} -- /bin/sh -c 'kill 1' || true")
    service.until(run, lambda s: s.ready == 2)
    assert service.day.user.run(run).state == "running"


def test_only_members_of_the_group_get_in_and_the_service_learns_no_token(service, echo, platform, authority):
    _run, host = echo
    assert service.ask(host)[0] == 401
    assert service.ask(host, "ava_x.y")[0] == 401
    admin = Client(f"https://{platform.host}", ca=authority)
    admin.login(platform.admin, platform.password)
    foreign = admin.make_token("foreign").token
    assert service.ask(host, foreign)[0] == 403, "an administrator is no member"
    # What the ingress says of a request no one else says.
    assert (
        service.ask(host, foreign, **{"X-Forwarded-Host": "x", "X-Ava-User": service.day.user.me().name})[0]
        == 403
    )
    status, headers, body = service.ask(host, service.token, Cookie="a=b", **{"X-Ava-User": "root"})
    assert status == 200
    heard = {name.lower(): value for name, value in json.loads(body)["heard"].items()}
    assert heard["x-ava-user"] == service.day.user.me().name
    assert not {"authorization", "cookie"} & set(heard)
    assert "set-cookie" not in {name.lower() for name in headers}
    # No one else's name leads there.
    for other in (f"x{host}", f"echo.{host.partition('.')[2]}"):
        assert service.ask(other, service.token)[0] == 404
    api, _, _ = service.ask(platform.host, service.token, path="/api/v1/users/me")
    assert api == 200, "the API is where it was"


def test_what_is_public_is_so_and_says_no_user_s_name(service, echo):
    _run, host = echo
    service.submit("2", access="public")
    until(lambda: service.ask(host)[0] == 200, 30)
    heard = json.loads(service.ask(host, None, **{"X-Ava-User": "root"})[2])["heard"]
    assert "x-ava-user" not in {name.lower() for name in heard}
    service.submit("2")
    until(lambda: service.ask(host)[0] == 401, 30)


def test_it_grows_with_its_load_and_shrinks_to_its_bounds(service, echo):
    run, host = echo
    service.submit("2", scaling={"least": 2, "most": 4, "requests": 1})
    with Callers(service, host, count=4, pause=0.1):
        service.until(run, lambda s: s.wanted > 2, 120)
    service.submit("2", scaling={"least": 1, "most": 2, "requests": 1000})
    service.until(run, lambda s: s.wanted == 2, 60)


def test_a_pod_of_the_group_does_not_reach_it_beside_the_ingress(service, echo, lab):
    run, _ = echo
    addresses = lab.sh(
        service.platform.master,
        f"kubectl get pods --namespace ava-{service.day.group} -l ava.io/run={run} "
        "-o jsonpath='{.items[*].status.podIP}'",
    ).split()
    program = (
        "import socket\n"
        f"for address in {addresses!r}:\n"
        "    s = socket.socket(); s.settimeout(2)\n"
        "    print(address, 'closed' if s.connect_ex((address, 8000)) else 'OPEN')\n"
    )
    spy = service.day.start("spy-service", program, roles=[{"each": SMALL}])
    assert service.day.until(spy, *ENDED).outcome == "succeeded"
    assert [line.split()[1] for line in service.day.log(spy, len(addresses))] == ["closed"] * len(addresses)

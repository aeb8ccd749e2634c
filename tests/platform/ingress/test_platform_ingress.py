"""Services behind a real ingress controller with the files of its role, and the API that it asks: who gets in, and with what."""

import http.server
import json
import socket
import subprocess
import threading
import time
from contextlib import contextmanager

import pytest
import yaml

from avadm.components.ava.variables import CALLERS
from bench.control_plane import free_port
from tests.http_request import ask
from tests.platform.built import built
from tests.unit.ava.api.site import SPEC
from tests.unit.ava.served import Served
from tests.unit.fakes.roles import given, template

DOMAIN = "services.test"


class Echo(http.server.BaseHTTPRequestHandler):
    """A service that a hostile tenant wrote: it tells all that it hears, and sets cookies for everybody."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        text = json.dumps([self.path, {k.lower(): v for k, v in self.headers.items()}]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.send_header("Set-Cookie", "stolen=1; Domain=test")
        self.send_header("X-Ava-User", "root")
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


@contextmanager
def echoing():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Ingress:
    """The controller with the role's files, reported of one service as an Ingress of the operator's would tell it."""

    def __init__(self, folder, api, echo, host):
        program = built("traefik") / "traefik"
        self.ports = {
            "https": free_port(),
            "callers": free_port(),
            "metrics": free_port(),
            "http": free_port(),
        }
        have = given("ingress") | {
            "ingress_callers": {"service": "api@file", "path": CALLERS},
            "ingress_callers_port": self.ports["callers"],
            "ingress_http_port": self.ports["http"],
            "ingress_https_port": self.ports["https"],
            "ingress_metrics_port": self.ports["metrics"],
            "ingress_address": "127.0.0.1",
            "ingress_routes": [],
        }
        (folder / "dynamic").mkdir()
        dynamic = yaml.safe_load(template("ingress/templates/certificates.yml.j2", **have))
        del dynamic["tls"]
        (folder / "dynamic/role.yml").write_text(yaml.safe_dump(dynamic))
        # Without TLS, which is the controller's own: what is asked and taken away is the same.
        where = {"entryPoints": ["web"], "service": "echo"}
        routers = {
            "members": where | {"rule": f"Host(`{host}`)", "middlewares": ["avadm-members"]},
            "public": where | {"rule": "Host(`public.services.test`)", "middlewares": ["avadm-anybody"]},
        }
        services = {
            "echo": {"loadBalancer": {"servers": [{"url": f"http://127.0.0.1:{echo}"}]}},
            "api": {"loadBalancer": {"servers": [{"url": api}]}},
        }
        # As of an Ingress that names no entry point.
        routers["tenant"] = {"rule": "Host(`tenant.test`)", "service": "echo"}
        report = {"http": {"routers": routers, "services": services}}
        (folder / "dynamic/report.yml").write_text(yaml.safe_dump(report))
        static = yaml.safe_load(template("ingress/templates/traefik.yml.j2", **have))
        static["providers"] = {"file": {"directory": str(folder / "dynamic"), "watch": False}}
        (folder / "traefik.yml").write_text(yaml.safe_dump(static))
        self.log = (folder / "log").open("w")
        argv = [str(program), f"--configFile={folder / 'traefik.yml'}"]
        self.process = subprocess.Popen(argv, stdout=self.log, stderr=self.log)
        self._wait(folder / "log")

    def _wait(self, log):
        until = time.monotonic() + 30
        for port in (self.ports["http"], self.ports["callers"]):
            while not listens(port):
                assert self.process.poll() is None and time.monotonic() < until, log.read_text()
                time.sleep(0.1)
        # It listens before it knows anything.
        while self.ask("public.services.test")[0] == 404:
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.1)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def ask(self, host, token=None, path="/", **headers):
        return ask(host, ("127.0.0.1", self.ports["http"]), token, path, **headers)


@pytest.fixture
def scene(tmp_path):
    """An API with a service of ann's, the ingress before it, and the service's host name."""
    ava = Served(tmp_path, config={"services_domain": DOMAIN, "trusted_proxies": ["127.0.0.1/32"]})
    try:
        spec = SPEC | {"kind": "service", "serving": {"model": "m"}}
        run = ava.call("POST", "/runs", "ann", json={"name": "echo", "spec": spec}).json()["id"]
        ava.db.runs.admit(run, ava.now)
        address = ava.call("GET", f"/runs/{run}/service", "ann").json()["address"]
        host = address.removeprefix("https://").removesuffix("/")
        with echoing() as echo:
            (tmp_path / "ingress").mkdir()
            ingress = Ingress(tmp_path / "ingress", ava.url, echo, host)
            try:
                yield ava, ingress, host
            finally:
                ingress.close()
    finally:
        ava.close()


def test_members_get_in_and_the_service_hears_who_they_are_and_nothing_that_it_could_use(scene):
    ava, ingress, host = scene
    for who in ("ann", "ben"):
        status, headers, body = ingress.ask(
            host, ava.token(who), "/a?b=c", Cookie="__Host-ava=x", **{"X-Ava-User": "root"}
        )
        assert status == 200, body
        path, heard = json.loads(body)
        assert (path, heard["x-ava-user"], heard["host"]) == ("/a?b=c", who, host)
        assert not {"authorization", "cookie"} & set(heard)
        assert ava.token(who) not in body.decode()
        assert "set-cookie" not in {name.lower() for name in headers}


@pytest.mark.parametrize("who", [None, "eve", "root2"])
def test_no_other_user_gets_in_whatever_they_say_of_themselves(scene, who):
    ava, ingress, host = scene
    lies = (
        {},
        {"X-Ava-User": "ann"},
        {"X-Forwarded-Host": "public.services.test"},
        {"X-Forwarded-Uri": "/", "X-Forwarded-Method": "OPTIONS", "X-Forwarded-For": "127.0.0.1"},
        {"Connection": "Authorization, X-Forwarded-Host"},
        {"Forwarded": "host=public.services.test"},
    )
    for reply in lies:
        status, _, body = ingress.ask(host, ava.token(who) if who else None, **reply)
        # A header that is named in Connection goes no further: then there is no token.
        assert status == (403 if who and "Connection" not in reply else 401), (reply, body)
    assert ingress.ask(f"x{host}", ava.token("ann"))[0] == 404


def test_what_is_public_hears_no_name_that_a_caller_made_up_and_no_token(scene):
    ava, ingress, _ = scene
    status, headers, body = ingress.ask("public.services.test", ava.token("ann"), **{"X-Ava-User": "ann"})
    heard = json.loads(body)[1]
    assert status == 200
    assert not {"authorization", "cookie", "x-ava-user"} & set(heard)
    assert "set-cookie" not in {name.lower() for name in headers}


def test_where_the_api_is_away_no_one_gets_in(scene):
    ava, ingress, host = scene
    ava.server.should_exit = True
    ava.thread.join(10)
    status, _, body = ingress.ask(host, ava.token("ann"))
    assert status >= 500 and b"x-ava-user" not in body


@pytest.mark.parametrize("path", ["/", "/stolen", CALLERS + "x"])
def test_a_route_without_an_entry_point_is_not_served_at_the_controllers_own(scene, path):
    _, ingress, _ = scene
    assert ingress.ask("tenant.test", path=path)[0] == 200
    for port in ("metrics", "callers"):
        assert ask("tenant.test", ("127.0.0.1", ingress.ports[port]), path=path)[0] == 403


@pytest.mark.parametrize("path", ["/metrics", "/ping"])
def test_the_controllers_own_pages_stay_where_they_are(scene, path):
    _, ingress, _ = scene
    assert ask("tenant.test", ("127.0.0.1", ingress.ports["metrics"]), path=path)[0] == 200

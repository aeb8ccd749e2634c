"""A real ingress controller with a certificate of the site's own: who is shown which."""

import socket
import ssl
import subprocess
import time

import pytest
import yaml

from bench.control_plane import free_port
from tests.platform.built import built
from tests.unit.fakes.roles import given, template
from tests.unit.site.test_own_certificate import HOST, made


@pytest.fixture
def port(tmp_path):
    ports = {name: free_port() for name in ("http", "https", "metrics")}
    have = given("ingress") | {f"ingress_{name}_port": number for name, number in ports.items()}
    have |= {"ingress_address": "127.0.0.1", "ingress_own_certificate": "x"}
    text = template("ingress/templates/certificates.yml.j2", **have).replace("/etc/traefik", str(tmp_path))
    (tmp_path / "certificates.yml").write_text(text)
    for name, names, key in (("own", (HOST,), "own.key"), ("default", ("*.demo.test",), "client.key")):
        chain, private = made(*names)
        (tmp_path / f"{name}.crt").write_text(chain)
        (tmp_path / key).write_text(private)
    static = yaml.safe_load(template("ingress/templates/traefik.yml.j2", **have))
    static["providers"] = {"file": {"filename": str(tmp_path / "certificates.yml")}}
    (tmp_path / "traefik.yml").write_text(yaml.safe_dump(static))
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            [str(built("traefik") / "traefik"), f"--configFile={tmp_path / 'traefik.yml'}"],
            stdout=log,
            stderr=log,
        )
    try:
        until = time.monotonic() + 30
        while not shown(ports["https"], HOST):
            assert process.poll() is None and time.monotonic() < until, (tmp_path / "log").read_text()
            time.sleep(0.2)
        yield ports["https"]
    finally:
        process.terminate()
        process.wait(10)


def shown(port, name):
    """Return the certificate that is shown for a name, PEM; "" where it does not listen yet."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection(("127.0.0.1", port), 5) as plain,
            context.wrap_socket(plain, server_hostname=name) as tls,
        ):
            return ssl.DER_cert_to_PEM_cert(tls.getpeercert(binary_form=True))
    except OSError:
        return ""


def test_its_name_gets_it_and_every_other_name_the_sites(port, tmp_path):
    own, default = ((tmp_path / f"{name}.crt").read_text() for name in ("own", "default"))
    # The file is read after it listens.
    until = time.monotonic() + 15
    while shown(port, HOST) != own and time.monotonic() < until:
        time.sleep(0.2)
    assert shown(port, HOST) == own
    for name in ("ingress.demo.test", "x.wb.demo.test"):
        assert shown(port, name) == default

"""A certificate of the site's own for https://ava.DOMAIN: what is refused, where its key is, what the ingress shows."""

from __future__ import annotations

from datetime import timedelta

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from avadm.components.addons import variables as addons
from avadm.components.ava import rules_services as rules
from avadm.components.ava import variables as ava
from avadm.components.ava import variables_services
from avadm.components.base import variables as core
from avadm.components.database import variables as database
from avadm.components.logs import variables as logs
from avadm.pki import certs, foreign
from avadm.site.draft import Draft
from tests.unit.fakes import sites
from tests.unit.fakes.roles import ROOT, given, template, written
from tests.unit.site.test_render_ava import site

HOST = "ava.demo.test"


def made(*names, days=90, kind="ec", password=b""):
    """Return a certificate for names and its key, PEM."""
    key = rsa.generate_private_key(65537, 2048) if kind == "rsa" else ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    builder = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(certs.now() - timedelta(days=400))
        .not_valid_after(certs.now() + timedelta(days=days, hours=1))
    )
    if names:
        held = x509.SubjectAlternativeName([x509.DNSName(n) for n in names])
        builder = builder.add_extension(held, critical=False)
    way = BestAvailableEncryption(password) if password else NoEncryption()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, way).decode()
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM).decode(), private


def judged(chain, **more):
    one = site(ava={"certificate": {"chain": chain, **more}})
    draft = Draft(one, lambda path: "site.yml:1", lambda path: True)
    return [(f.check, str(f.severity), f.found) for f in rules.certificate(draft)]


@pytest.mark.parametrize("names", [(HOST,), ("other.demo.test", HOST), ("*.demo.test",), ("AVA.demo.test",)])
def test_a_certificate_of_the_platforms_name_is_good(names):
    assert judged(made(*names)[0]) == []


@pytest.mark.parametrize(
    "names", [(), ("demo.test",), ("*.test",), ("x.ava.demo.test",), ("ava.demo.test.evil.org",)]
)
def test_one_of_another_name_is_refused(names):
    """The common name does not count."""
    ((check, severity, found),) = judged(made(*names)[0])
    assert (check, severity, found) == ("ava-certificate", "error", ", ".join(names) or "no names")


def test_the_first_of_the_chain_counts():
    server, authority = made(HOST)[0], made("ca.example.org")[0]
    assert judged(server + authority) == []
    assert judged(authority + server)[0][0] == "ava-certificate"


@pytest.mark.parametrize(("days", "severity"), [(-2, "error"), (5, "warning"), (29, "warning"), (31, None)])
def test_its_end_is_watched(days, severity):
    found = judged(made(HOST, days=days)[0])
    assert [(check, how) for check, how, _ in found] == (
        [("ava-certificate-ends", severity)] if severity else []
    )


def test_what_is_no_certificate_is_refused():
    broken = made(HOST)[0].replace("M", "!", 3)
    assert [f[0] for f in judged(broken)] == ["ava-certificate"]
    assert [f[0] for f in judged(made(HOST)[0], ca=broken)] == ["ava-certificate"]


def knobs(chain):
    return {"certificate": {"chain": chain}}


@pytest.mark.parametrize("kind", ["ec", "rsa"])
def test_the_key_is_held_against_the_certificate_before_anything_is_done(kind):
    chain, key = made(HOST, kind=kind)
    one = site(ava=knobs(chain))
    assert [f.found for f in variables_services.missing(one, {})] == ["no vault_ava_tls_key"]
    assert variables_services._wrong_key(one, {"vault_ava_tls_key": key}) == []
    others, locked = made(HOST)[1], made(HOST, password=b"x")[1]
    for wrong in (others, locked, chain, "hunter2"):
        (finding,) = variables_services._wrong_key(one, {"vault_ava_tls_key": wrong})
        assert finding.check == "ava-certificate-key" and "hunter2" not in str(finding)


def rendered(tmp_path, **own):
    one = site(ava=own)
    return sites.render(
        one, core, logs, database, addons, ava, variables_services, store=sites.issued(one, tmp_path)
    )


def test_the_ingress_shows_it_and_keeps_its_key_from_others(tmp_path):
    chain, key = made(HOST)
    out = rendered(tmp_path, **knobs(chain))
    assert out.all["ingress_own_key"] == "{{ vault_ava_tls_key }}", "no key in the inventory"
    have = (
        given("ingress") | out.all | {"ingress_own_key": key, "ansible_managed": "x", "ingress_callers": {}}
    )
    tasks = yaml.safe_load((ROOT / "roles/ingress/tasks/main.yml").read_text())
    files = [f for f in tasks[0]["avadm_service"]["files"] if f["path"].startswith("/etc/traefik/own.")]
    found = written(files, **have)
    assert found["/etc/traefik/own.crt"]["content"] == chain
    assert (
        found["/etc/traefik/own.key"]["mode"] == "0600"
        and found["/etc/traefik/own.key"]["owner"] == "traefik"
    )
    tls = yaml.safe_load(template("ingress/templates/certificates.yml.j2", **have))["tls"]
    assert tls["certificates"] == [{"certFile": "/etc/traefik/own.crt", "keyFile": "/etc/traefik/own.key"}]
    assert tls["stores"]["default"]["defaultCertificate"]["certFile"] == "/etc/traefik/default.crt"


def test_without_one_the_ingress_shows_the_sites_alone(tmp_path):
    out = rendered(tmp_path)
    have = given("ingress") | out.all | {"ansible_managed": "x", "ingress_callers": {}}
    assert (
        "certificates" not in yaml.safe_load(template("ingress/templates/certificates.yml.j2", **have))["tls"]
    )


def test_a_star_is_one_label():
    certificate = foreign.read(made("*.demo.test")[0])[0]
    assert foreign.is_for(certificate, HOST)
    assert not foreign.is_for(certificate, "demo.test") and not foreign.is_for(certificate, "a.ava.demo.test")

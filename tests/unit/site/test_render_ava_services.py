"""Services of the site that the platform uses: settings as its processes read them, secrets from the vault, no other way out."""

import base64

import pytest
import yaml

from ava.operator.config import Config as Operator
from ava.services.config import Config as Api
from avadm.components.addons import variables as addons
from avadm.components.ava import component, variables_services
from avadm.components.ava import variables as ava
from avadm.components.database import variables as database
from avadm.components.logs import variables as logs
from avadm.errors import AvadmError
from avadm.inventory.model import Variables
from tests.unit.fakes import sites
from tests.unit.fakes.roles import given, template, value
from tests.unit.site.test_render_ava import ARCHIVE, site

KNOBS = {
    "oidc": {
        "issuer": "https://id.example.org/realms/x",
        "client_id": "ava",
        "networks": ["192.0.2.10/32"],
        "enough": {"claim": "groups", "values": ["staff"]},
        "ca": "OIDC AUTHORITY",
    },
    "ldap": {"url": "ldap://dir.example.org", "user_dn": "uid={name},dc=x", "networks": ["192.0.2.11/32"]},
    "notices": {
        "webhook": {"url": "http://hook.example.org:8080/ava", "networks": ["192.0.2.12/32"]},
        "mail": {
            "host": "mail.example.org",
            "sender": "ava@example.org",
            "user": "ava",
            "networks": ["192.0.2.16/28"],
        },
    },
}
SECRETS = {
    "vault_ava_oidc_secret": "oidc word",
    "vault_ava_webhook_secret": "hook word",
    "vault_ava_mail_password": "mail word",
    "vault_pki_key_registry_client_ava": "registry word",
    "vault_pki_key_registry_tokens_ava": "tokens word",
}


def objects(tmp_path, name, knobs=KNOBS):
    of = site(ava=knobs)
    out = sites.render(of, logs, database, ava, variables_services, store=sites.issued(of, tmp_path))
    kept = {
        "ava-image": {"version": "0.1.0-abc", "files": {"image.tar": ARCHIVE}},
        "ava-init": {"files": {"init": {}}},
        "ava-base": {"version": "1", "files": {"image.tar": ARCHIVE}},
    }
    have = given("ava") | out.all | dict.fromkeys(out.secrets, "made") | SECRETS | {"artifacts": kept}
    for _ in range(4):
        have = {k: value(v, **have) if k.startswith(("ava_", "_ava_")) else v for k, v in have.items()}
    found = [one for one in yaml.safe_load_all(template(f"ava/templates/{name}", **have)) if one]
    return {f"{one['kind']} {one['metadata']['name']}": one for one in found}


def test_the_processes_take_the_settings_and_find_no_secret_in_them(tmp_path):
    data = objects(tmp_path, "base.yml.j2")["ConfigMap ava"]["data"]
    assert not any(word in str(data) for word in SECRETS.values())
    api = Api.model_validate(yaml.safe_load(data["api.yml"]))
    assert api.oidc is not None
    assert (api.oidc.issuer, api.oidc.address) == (
        "https://id.example.org/realms/x",
        "https://ava.demo.test",
    )
    assert (api.oidc.enough.claim, api.oidc.enough.values) == ("groups", ("staff",))
    assert str(api.oidc.secret_file) == "/etc/ava/services-api/oidc"
    assert str(api.oidc.ca) == "/etc/ava/config/oidc-ca.crt"
    assert data["oidc-ca.crt"] == "OIDC AUTHORITY\n"
    assert (api.ldap.url, api.ldap.user_dn, api.ldap.ca) == (
        "ldap://dir.example.org",
        "uid={name},dc=x",
        None,
    )
    operator = Operator.model_validate(yaml.safe_load(data["operator.yml"]))
    assert str(operator.notices.webhook.secret_file) == "/etc/ava/services-operator/webhook"
    mail = operator.notices.mail
    assert (mail.host, mail.port, mail.tls, mail.user) == ("mail.example.org", 587, "starttls", "ava")
    assert str(mail.passfile) == "/etc/ava/services-operator/mail"


def test_each_process_has_its_own_secrets_as_files(tmp_path):
    held = objects(tmp_path, "secrets.yml.j2")
    report = {
        part: {k: base64.b64decode(v).decode() for k, v in held[f"Secret services-{part}"]["data"].items()}
        for part in ("api", "operator")
    }
    report["api"].pop("registry-key")
    assert "tokens word" in report["api"].pop("registry-tokens-key")
    assert report == {"api": {"oidc": "oidc word"}, "operator": {"webhook": "hook word", "mail": "mail word"}}
    parts = objects(tmp_path, "parts.yml.j2")
    for part, wanted in {"api": True, "operator": True, "scheduler": False}.items():
        pod = parts[f"Deployment {part}"]["spec"]["template"]["spec"]
        mounted = {m["mountPath"] for m in pod["containers"][0]["volumeMounts"]}
        assert (f"/etc/ava/services-{part}" in mounted) is wanted
    assert not any(word in str(parts) for word in SECRETS.values())


def test_another_secret_or_authority_makes_other_pods(tmp_path, monkeypatch):
    def notes(part, knobs=KNOBS):
        pods = objects(tmp_path, "parts.yml.j2", knobs)[f"Deployment {part}"]["spec"]["template"]
        return pods["metadata"]["annotations"]

    before = notes("api"), notes("operator")
    assert notes("api", KNOBS | {"oidc": KNOBS["oidc"] | {"ca": "ANOTHER"}}) != before[0]
    monkeypatch.setitem(SECRETS, "vault_ava_mail_password", "another")
    assert notes("operator") != before[1]


def test_the_way_is_open_to_their_addresses_and_ports_for_who_asks(tmp_path):
    base = objects(tmp_path, "base.yml.j2")
    found = []
    for name, one in base.items():
        if name.startswith("NetworkPolicy service-"):
            [rule] = one["spec"]["egress"]
            [peer], [port] = rule["to"], rule["ports"]
            part = one["spec"]["podSelector"]["matchLabels"]["part"]
            found.append((part, peer["ipBlock"]["cidr"], port["port"], one["spec"]["policyTypes"]))
    assert found == [
        ("api", "192.0.2.10/32", 443, ["Egress"]),
        ("api", "192.0.2.11/32", 389, ["Egress"]),
        # The site's own registry: read, pushed images removed, counted.
        ("api", "10.0.0.2/32", 5000, ["Egress"]),
        ("api", "10.0.0.2/32", 5004, ["Egress"]),
        ("api", "10.0.0.2/32", 5006, ["Egress"]),
        ("operator", "192.0.2.12/32", 8080, ["Egress"]),
        ("operator", "192.0.2.16/28", 587, ["Egress"]),
    ]


def test_without_them_nothing_is_opened_or_kept(tmp_path):
    base = objects(tmp_path, "base.yml.j2", {})
    own = [f"NetworkPolicy service-{n}" for n in (1, 2, 3)]
    assert [name for name in base if "service-" in name] == own, "the site's own registry"
    held = objects(tmp_path, "secrets.yml.j2", {})
    assert list(held["Secret services-api"]["data"]) == ["registry-key", "registry-tokens-key"]
    assert "Secret services-operator" not in held
    assert yaml.safe_load(base["ConfigMap ava"]["data"]["operator.yml"]).get("notices") is None


def test_a_secret_that_others_have_given_must_be_in_the_vault():
    found = variables_services.missing(site(ava=KNOBS), {})
    assert [f.where for f in found] == ["components.ava.oidc.secret", "components.ava.notices.mail.password"]
    with pytest.raises(AvadmError):
        variables_services.require(site(ava=KNOBS), {"vault_ava_oidc_secret": "x"})
    variables_services.require(site(ava=KNOBS), SECRETS)
    variables_services.require(site(ava={}), {})


def test_the_interface_alone_asks_the_site_s_registry_and_shows_a_certificate_for_it(tmp_path):
    data = objects(tmp_path, "base.yml.j2", {})["ConfigMap ava"]["data"]
    [(name, row)] = Api.model_validate(yaml.safe_load(data["api.yml"])).registries.items()
    assert name == "registry.example:5000" or name.endswith(":5000")
    assert "BEGIN CERTIFICATE" in data["registry-ca.crt"]
    assert "BEGIN CERTIFICATE" in data["registry-client.crt"]
    assert str(row.key) == "/etc/ava/services-api/registry-key"
    held = objects(tmp_path, "secrets.yml.j2", {})["Secret services-api"]["data"]
    assert b"registry word" in base64.b64decode(held["registry-key"])
    assert "registries" not in data["operator.yml"]


def test_users_push_to_the_registry_and_its_tokens_are_signed_by_the_interface_alone(tmp_path):
    data = objects(tmp_path, "base.yml.j2", {})["ConfigMap ava"]["data"]
    report = Api.model_validate(yaml.safe_load(data["api.yml"])).user_registry
    assert report is not None and report.host.endswith(":5004")
    assert report.pulled in Api.model_validate(yaml.safe_load(data["api.yml"])).registries
    assert report.space.endswith(":5006")
    assert str(report.key) == "/etc/ava/services-api/registry-tokens-key"
    assert "BEGIN CERTIFICATE" in data["registry-tokens.crt"]
    parts = [name for name in data if name.endswith(".yml") and "user_registry" in data[name]]
    assert parts == ["api.yml"]


@pytest.mark.parametrize(
    ("knob", "limits"),
    [
        ({}, {"users": 50 * 2**30, "groups": 200 * 2**30}),
        (
            {"user_gib": None, "group_gib": 0, "others": {"users/zoe": 500, "groups/vision": None}},
            {"users": None, "groups": 0, "users/zoe": 500 * 2**30, "groups/vision": None},
        ),
    ],
)
def test_what_counts_is_reported_the_limits_in_bytes_and_who_may_ask(tmp_path, knob, limits):
    of = site(ava={"image_space": knob})
    out = sites.render(of, addons, store=sites.issued(of, tmp_path), out=Variables(all={"base_hosts": ""}))
    assert out.all["registry_space_limits"] == limits
    [client] = [leaf for leaf in component.leaves(of) if leaf.name == "registry-client-ava"]
    assert out.all["registry_space_client"] == client.user


def test_the_directory_is_searched_with_a_secret_of_the_vault(tmp_path, monkeypatch):
    search = {
        "base": "dc=x",
        "bind_dn": "svc@x",
        "filter": "(&(sAMAccountName={name})(memberOf=cn=gpu,dc=x))",
    }
    knobs = {"ldap": {"url": "ldaps://dir.example.org", "search": search, "networks": ["192.0.2.11/32"]}}
    assert [f.found for f in variables_services.missing(site(ava=knobs), {})] == [
        "no vault_ava_ldap_password"
    ]
    assert variables_services.missing(site(ava=knobs), {"vault_ava_ldap_password": "x"}) == []
    monkeypatch.setitem(SECRETS, "vault_ava_ldap_password", "directory word")
    (tmp_path / "again").mkdir()
    data = objects(tmp_path, "base.yml.j2", knobs)["ConfigMap ava"]["data"]
    assert "directory word" not in str(data)
    api = Api.model_validate(yaml.safe_load(data["api.yml"]))
    assert api.ldap.search.model_dump(mode="json") == {**search, "passfile": "/etc/ava/services-api/ldap"}
    kept = objects(tmp_path / "again", "secrets.yml.j2", knobs)["Secret services-api"]["data"]
    assert base64.b64decode(kept["ldap"]).decode() == "directory word"

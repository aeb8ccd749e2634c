"""Registries that others run: nodes trust them, and pull with a password that stays in the vault."""

import base64
import json
from pathlib import Path

import pytest
import yaml

from avadm.components.nodes import variables_registries
from avadm.errors import AvadmError
from avadm.site.model import Site
from tests.unit.fakes import sites
from tests.unit.fakes.roles import value
from tests.unit.fakes.sites import node

DOCKER = Path(__file__).parents[3] / "roles/docker"
CA = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


@pytest.fixture
def site() -> Site:
    registries = [{"name": "hub.test:5000", "ca": CA, "user": "puller"}, {"name": "open.test"}]
    return sites.site(node("m1", 1, "etcd", "master"), components={"kubernetes": {"registries": registries}})


def test_nodes_trust_the_authority_and_pull_as_the_user(site: Site) -> None:
    out = sites.render(site, variables_registries)
    assert out.all["docker_foreign_authorities"] == {"hub.test:5000": CA}
    have = (
        yaml.safe_load((DOCKER / "defaults/main.yml").read_text())
        | yaml.safe_load((DOCKER / "vars/main.yml").read_text())
        | out.all
        | {"vault_registry_password": "s3cret"}
    )
    (file,) = value("{{ _docker_login_files }}", **have)
    assert file["mode"] == "0600"
    logins = json.loads(file["secret"]) if isinstance(file["secret"], str) else file["secret"]
    assert {name: base64.b64decode(one["auth"]) for name, one in logins["auths"].items()} == {
        "hub.test:5000": b"puller:s3cret"
    }


def test_without_the_password_nothing_is_rendered(site: Site) -> None:
    variables_registries.require(site, {"vault_registry_password": "x"})
    with pytest.raises(AvadmError, match="password of puller"):
        variables_registries.require(site, {})

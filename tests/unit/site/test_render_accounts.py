"""Accounts of Kubernetes: their certificates, their kubeconfigs, and what goes when they go."""

import base64
import stat
from pathlib import Path

import pytest
import yaml
from cryptography import x509

from avadm.pki import plan
from avadm.pki import store as pki
from avadm.pki.model import Authority
from avadm.render import Vars, accounts, masters
from avadm.site.model import Site
from avadm.sitefile.rules.accounts import FORMER_USERS, OWN_USERS

EVA = {"name": "eva", "role": "viewer"}
TENANT = {"name": "1e3", "role": "tenant", "namespaces": ["team-a", "shared"]}


def site(*given: object) -> Site:
    nodes = [
        {"name": "m1", "address": "10.0.0.11", "roles": ["etcd", "master"]},
        {
            "name": "w1",
            "address": "10.0.0.12",
            "roles": ["worker", "client", "dns", "ingress", "registry", "prometheus"],
        },
    ]
    network = {
        "management": "10.0.0.0/24",
        "domain": "demo.test",
        "api_vip": "10.0.0.250",
        "ingress_vip": "10.0.0.251",
        "load_balancer": {"first": "10.0.0.200", "last": "10.0.0.209"},
    }
    return Site.model_validate(
        {
            "name": "demo",
            "network": network,
            "nodes": nodes,
            "components": {"kubernetes": {"accounts": list(given)}},
        }
    )


@pytest.fixture
def keep(tmp_path: Path):
    def write(*given: object) -> tuple[pki.Store, dict[str, str]]:
        one, path = site(*given), tmp_path / "demo.yml"
        keys = {name: make() for name, make in pki.makers(one).items()}
        pki.issue(pki.Store.open(path), one, keys)
        store = pki.Store.open(path)
        masters.keep_kubeconfig(one, store, keys)
        accounts.keep_kubeconfigs(one, store, keys)
        return store, keys

    return write


def test_no_account_can_have_the_name_of_a_part() -> None:
    users = {leaf.user for leaf in plan.leaves(site()) if leaf.authority is Authority.KUBERNETES}
    # Names with a colon or a dot no account can have, those with kube- are refused as such.
    assert {
        u for u in users if not {":", "."} & set(u) and not u.startswith("kube-")
    } == OWN_USERS - FORMER_USERS


def test_a_certificate_says_who_and_which_role(keep) -> None:
    store, _ = keep(EVA, TENANT)
    for account in (EVA, TENANT):
        pem = store.leaf(f"account-{account['name']}")
        subject = x509.load_pem_x509_certificate(pem.encode()).subject.rfc4514_string()
        assert set(subject.split(",")) == {f"CN={account['name']}", f"O=avadm:{account['role']}"}


def test_each_account_has_a_kubeconfig_of_its_own_for_its_owner_alone(keep, tmp_path: Path) -> None:
    store, keys = keep(EVA, TENANT)
    seen = set()
    for account, namespace in ((EVA, None), (TENANT, "team-a")):
        path = tmp_path / f"demo.account-{account['name']}.kubeconfig"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        config = yaml.safe_load(path.read_text())
        assert config["contexts"][0]["context"].get("namespace") == namespace
        assert config["contexts"][0]["context"]["user"] == config["users"][0]["name"] == account["name"]
        user = {k: base64.b64decode(v).decode() for k, v in config["users"][0]["user"].items()}
        assert user["client-certificate-data"] == store.leaf(f"account-{account['name']}")
        assert keys[f"vault_pki_key_account_{account['name']}"] in user["client-key-data"]
        seen.add(user["client-key-data"])
    assert len(seen) == 2


def test_the_kubeconfig_goes_with_the_account_and_nobody_else_s_does(keep, tmp_path: Path) -> None:
    keep(EVA, TENANT)
    own, other = tmp_path / "demo.account-mine.kubeconfig", tmp_path / "demo.prod.kubeconfig"
    own.write_text("kind: Config\n")
    other.write_text(f"{masters.MARK}the administrator of another site's Kubernetes.\n")
    keep(EVA)
    assert {p.name for p in tmp_path.glob("*.kubeconfig")} == {
        "demo.kubeconfig",
        "demo.account-eva.kubeconfig",
        own.name,
        other.name,
    }


def test_what_is_right_is_left_alone(keep, tmp_path: Path) -> None:
    store, keys = keep(EVA)
    path = tmp_path / "demo.account-eva.kubeconfig"
    before = path.stat().st_mtime_ns
    accounts.keep_kubeconfigs(site(EVA), store, keys)
    assert path.stat().st_mtime_ns == before
    path.chmod(0o644)
    accounts.keep_kubeconfigs(site(EVA), store, keys)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_role_is_told_of_the_accounts() -> None:
    out = Vars()
    accounts.render(site(EVA, TENANT), out)
    assert out.all["kube_addons_accounts"] == [{**EVA, "namespaces": []}, TENANT]

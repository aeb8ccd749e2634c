"""Accounts of Kubernetes: their certificates, their kubeconfigs, and what goes when they go."""

import base64
import stat

import pytest
import yaml
from cryptography import x509

from avadm.components import certificates
from avadm.components.masters import variables as masters
from avadm.components.masters import variables_accounts
from avadm.components.masters.rules_accounts import FORMER_USERS, OWN_USERS
from avadm.pki.model import Authority
from tests.unit.fakes import sites
from tests.unit.fakes.sites import node

EVA = {"name": "eva", "role": "viewer"}
TENANT = {"name": "1e3", "role": "tenant", "namespaces": ["team-a", "shared"]}


def site(*given):
    given = {"kubernetes": {"accounts": list(given)}}
    served = ("worker", "client", "dns", "ingress", "registry", "prometheus")
    balancer = {"first": "10.0.0.200", "last": "10.0.0.209"}
    network = {"ingress_vip": "10.0.0.251", "load_balancer": balancer}
    nodes = node("m1", 11, "etcd", "master"), node("w1", 12, *served)
    return sites.site(*nodes, network=network, components=given)


@pytest.fixture
def keep(tmp_path):
    def write(*given):
        one = site(*given)
        keys = sites.keys(one)
        store = sites.issued(one, tmp_path, keys)
        masters.keep_files(one, store, keys)
        variables_accounts.keep_files(one, store, keys)
        return store, keys

    return write


def test_no_account_can_have_the_name_of_a_part():
    users = {leaf.user for leaf in certificates.leaves(site()) if leaf.authority is Authority.KUBERNETES}
    # Names with a colon or a dot no account can have, those with kube- are refused as such.
    plain = {u for u in users if not {":", "."} & set(u) and not u.startswith("kube-")}
    assert plain == OWN_USERS - FORMER_USERS


def test_a_certificate_says_who_and_which_role(keep):
    store, _ = keep(EVA, TENANT)
    for account in (EVA, TENANT):
        pem = store.leaf(f"account-{account['name']}")
        subject = x509.load_pem_x509_certificate(pem.encode()).subject.rfc4514_string()
        assert set(subject.split(",")) == {f"CN={account['name']}", f"O=avadm:{account['role']}"}


def test_each_account_has_a_kubeconfig_of_its_own_for_its_owner_alone(keep, tmp_path):
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


def test_the_kubeconfig_goes_with_the_account_and_no_other_user_s_does(keep, tmp_path):
    keep(EVA, TENANT)
    own, other = tmp_path / "demo.account-mine.kubeconfig", tmp_path / "demo.prod.kubeconfig"
    own.write_text("kind: Config\n")
    other.write_text(f"{masters.MARK}the administrator of another site's Kubernetes.\n")
    keep(EVA)
    left = {p.name for p in tmp_path.glob("*.kubeconfig")}
    assert left == {"demo.kubeconfig", "demo.account-eva.kubeconfig", own.name, other.name}


def test_what_is_right_is_left_alone(keep, tmp_path):
    store, keys = keep(EVA)
    path = tmp_path / "demo.account-eva.kubeconfig"
    before = path.stat().st_mtime_ns
    variables_accounts.keep_files(site(EVA), store, keys)
    assert path.stat().st_mtime_ns == before
    path.chmod(0o644)
    variables_accounts.keep_files(site(EVA), store, keys)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_role_is_reported_of_the_accounts():
    out = sites.render(site(EVA, TENANT), variables_accounts)
    assert out.all["kube_addons_accounts"] == [{**EVA, "namespaces": []}, TENANT]

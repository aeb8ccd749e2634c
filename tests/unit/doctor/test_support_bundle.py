"""`avadm support collect`: no secret of any kind that a site has gets into a bundle; `avadm doctor BUNDLE` reads it."""

import base64
import json
import stat
import tarfile
import zlib
from urllib.parse import quote

import pytest

from avadm.doctor import support
from avadm.doctor.bundle import read
from avadm.doctor.checks import CHECKS
from avadm.doctor.redaction import Cleaner, secrets_of
from avadm.doctor.waivers import judge
from avadm.errors import AvadmError
from avadm.site.load import load
from avadm.site.vault import Vault
from avadm_node.probes.support import extracts
from tests.unit.doctor.healthy import data
from tests.unit.fakes.nodes import answer, called

KEY = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqG\nSM49AwEHBG0wawIBAQQg\n-----END PRIVATE KEY-----\n"
VAULTED = "vault-value-Zq81kd/02+x y"
HOOK = "https://alerts.example.com/in/Xk29s"


def b64(text):
    return base64.b64encode(text.encode()).decode()


NESTED = json.dumps({"a": json.dumps({"password": "correct horse battery"})})
# Kind to (the secret, how it lies in a text: § is the secret).
KINDS = {
    "vault, plain": (VAULTED, "ceph says § and goes"),
    "vault, base64": (b64(VAULTED), "data: §"),
    "vault, URL": (quote(VAULTED, safe=""), "GET /?q=§"),
    "private key": ("MIGHAgEAMBMGByqGSM49AgEGCCqG", KEY),
    "private key, JSON": ("MIGHAgEAMBMGByqGSM49AgEGCCqG", json.dumps({"x": KEY})),
    "private key, base64": (b64(KEY)[30:60], f"x: {b64(KEY)}"),
    "kubeconfig": ("QkFTRTY0S0VZREFUQQ", "    client-key-data: §=="),
    "cephx": ("AQDRk1Rjj3iNAhAAXeLZ8hR9Jb1kCWXxEwYRdg", "key = §=="),
    "crypt": ("$6$saltsalt$Xk9wQyTgBWvhUzVsd", "root:§:19000:0"),
    "proxy": ("hunter2proxy", "http://user:§@10.0.0.5:3142/"),
    "token of a service account": ("eyJhbGciOiJSUzI1NiJ9", "token §.eyJpc3MiOiJrdWJlIn0.c2lnbmF0dXJl"),
    "bearer": ("abcdef0123456789zz", "Authorization: Bearer §"),
    "basic": ("dXNlcjpwYXNzd29yZA", "authorization: Basic §=="),
    "join token": ("0123456789abcdef", "kubeadm join --token abcdef.§"),
    "S3 access": ("AKIAIOSFODNN7EXAMPLE", "using § for the bucket"),
    "S3 secret": ("wJalrXUtnFEMI/K7MDENG", 'aws.secretKey: "§/bPx"'),
    "S3 of Alluxio": ("wJalrXUtnFEMI/K7MDENG", "-Ds3a.secretKey=§/bPx"),
    "access key, JSON": ("0555b35654ad1656d804", '{"access_key": "§"}'),
    "encryption of Secrets": ("c2VjcmV0IGlzIHNlY3VyZQ", "      secret: §=="),
    "grafana": ("adm1n-pass-phrase", "admin_password = §"),
    "keepalived": ("vrrp-pass9", "    auth_pass §"),
    "haproxy": ("admin:stats-pass", "  stats auth §"),
    "with blanks": ("correct horse battery", '"db_password": "§"'),
    "with blanks, YAML": ("correct horse battery", "db_password: '§'"),
    "JSON in JSON": ("correct horse battery", NESTED),
    "on a command line": ("cmdline-secret-1", "mongod --keyFile x --db-password=§"),
    "webhook": ("T000/B000/XXXX", "slack_api_url: https://hooks.example.com/services/§"),
    "signed URL": ("9f86d081884c7d65", "GET http://rgw/b?X-Amz-Signature=§"),
    "site file": ("extra-var-pw", "mongo_admin_password: §"),
    "site's webhook": (HOOK, "posting to § failed"),
}
KINDS = {kind: (secret, text.replace("§", secret)) for kind, (secret, text) in KINDS.items()}
EVERY = "\n".join(text for _, text in KINDS.values())
SITE = f"""
name: base
profile: lab-bookworm
network: {{management: 10.0.0.0/24, domain: lab.internal}}
time: {{servers: [ntp.example.com]}}
components: {{monitoring: {{webhook_url: '{HOOK}'}}}}
nodes: [{{name: cpu01, address: 10.0.0.1}}, {{name: cpu02, address: 10.0.0.2}}]
waivers: [{{check: 'doctor:node-reached', nodes: [cpu02], who: Ann, why: 'see {HOOK}', until: 2100-01-31}}]
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    # Once: to make a vault takes its time on purpose.
    path = tmp_path_factory.mktemp("site") / "site.yml"
    path.write_text(SITE)
    Vault.open(path).ensure({"vault_x": lambda: VAULTED})
    return load(path)


@pytest.fixture(scope="module")
def clean(site):
    return Cleaner(secrets_of(site))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_secret_of_each_kind_is_masked(clean, kind):
    secret, text = KINDS[kind]
    assert secret in text or kind == "private key, JSON"
    found = clean.text(f"before\n{text}\nafter")
    assert secret not in found
    assert "***" in found
    assert found.startswith("before\n")


@pytest.mark.parametrize(
    "text",
    [
        "Accepted publickey for root from 10.0.0.1 port 22",
        "the secretName of the volume is ceph-secret",
        "kubelet 1.9.11 on comp1.lab.internal (10.0.0.31)",
        "osd.3 failed (root=default,host=stor2) (2 reporters from different host after 22.1 >= grace 20.0)",
        '{"tokens": 3, "keys": 12}',
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ],
)
def test_what_is_no_secret_stays(clean, text):
    assert clean.text(text) == text


class Fleet:
    """Two nodes: the first tells every secret in every place where it may tell anything, the second nothing."""

    def run(self, node, command, *, timeout=60.0, stdin=None):
        if node == "cpu02":
            return answer(node, command, rc=255, error="no route, proxy http://user:hunter2proxy@10.0.0.5")
        if stdin is None:
            return answer(node, command, "100.0\n")
        if called(stdin) == "support.extracts":
            files = dict.fromkeys(("journal.txt", "config/etc/ceph/ceph.conf"), EVERY)
            report = {"files": files, "left_out": {"config/etc/ceph/k.keyring": "a key"}}
            packed = base64.b64encode(zlib.compress(json.dumps(report).encode()))
            return answer(node, command, packed.decode())
        parts = data()["nodes"]["comp2"]["parts"]
        del parts["kernel"]
        lasts = {f"u{i}": text[:300] for i, (_, text) in enumerate(KINDS.values())}
        lasts["log-superblock"] = KINDS["proxy"][1]
        parts["journal"] = {name: {"count": 1, "last": last, "age_s": 1} for name, last in lasts.items()}
        reply = json.dumps({"parts": parts, "errors": {"kernel": KINDS["grafana"][1]}})
        return answer(node, command, f"100.0\n{reply}\n100.1\n")

    def close(self, nodes=None):
        pass


@pytest.fixture(scope="module")
def bundle(site, tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("made")
    runs = tmp_path / "runs"
    for day, name in ((1, "base"), (2, "stranger")):
        folder = runs / f"2027010{day}T000000Z-apply"
        folder.mkdir(parents=True)
        (folder / "summary.json").write_text(json.dumps({"site": name}))
        (folder / "log.txt").write_text(EVERY)
    path = tmp_path / "out" / "b.tar.gz"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AVADM_RUNS", str(runs))
        support.make(site, Fleet(), path, "-1h")
    return path


def members(path):
    with tarfile.open(path) as tar:
        return {m.name.partition("/")[2]: tar.extractfile(m).read().decode() for m in tar}


def test_no_planted_secret_is_in_the_bundle(bundle):
    held = members(bundle)
    assert held
    for kind, (secret, _) in KINDS.items():
        assert [name for name, text in held.items() if secret in text] == [], kind


def test_it_is_for_its_owner_alone_and_says_what_is_in_it(bundle):
    assert stat.S_IMODE(bundle.stat().st_mode) == 0o600
    held = members(bundle)
    manifest = json.loads(held["manifest.json"])
    assert {row["name"] for row in manifest["files"]} == set(held) - {"manifest.json"}
    assert manifest["redacted"]["nodes/cpu01/journal.txt"] >= len(KINDS) - 5
    assert manifest["left_out"]["nodes/cpu01/config/etc/ceph/k.keyring"] == "a key"
    assert "no route" in manifest["left_out"]["nodes/cpu02"]
    assert "controller/runs/20270101T000000Z-apply/log.txt" in held
    assert not [name for name in held if "20270102" in name], "another site's secrets are not known"
    assert not [name for name in held if "vault" in name]


def test_the_doctor_judges_it_offline_as_it_did_when_it_was_made(bundle):
    results = judge(read(bundle), CHECKS).rows()
    assert results == json.loads(members(bundle)["doctor.json"])["checks"]
    by = {(r["id"], r["where"]): r["status"] for r in results}
    assert by["node-reached", "cpu02"] == "waived"
    assert by["inotify", "cpu01"] == "unknown"
    assert by["log-superblock", "cpu01"] == "bad"


def test_without_the_vaults_password_there_is_no_bundle(site, tmp_path, monkeypatch):
    monkeypatch.setenv("AVADM_VAULT_PASSWORD_FILE", str(tmp_path / "lost"))
    with pytest.raises(AvadmError):
        support.make(site, Fleet(), tmp_path / "b.tar.gz", "-1h")
    assert not (tmp_path / "b.tar.gz").exists()


def test_a_node_keeps_its_keys_to_itself(tmp_path):
    own = dict.fromkeys(("b.key", "ceph.client.admin.keyring", "health.pem", "kubelet.kubeconfig"), "k")
    own |= {"c.conf": KEY, "d.conf": "\0\1"}
    for name, text in {**own, "a.conf": "x = 1"}.items():
        (tmp_path / name).write_text(text)
    params = {"patterns": [f"{tmp_path}/*"], "since": "-1h", "most": 1000}
    report = extracts(params)
    assert [n for n in report["files"] if n.startswith("config")] == [f"config{tmp_path}/a.conf"]
    assert {n.rpartition("/")[2] for n in report["left_out"]} == set(own)

"""No secret of the vault is anywhere but where it belongs: controller and nodes, files, journals, processes.

Secrets reach the searching shells by their standard input only, so that the search itself leaves none behind.
"""

import fnmatch
import stat
import subprocess
from pathlib import Path

import pytest

from avadm import paths
from avadm.site.vault import Vault
from avadm_validation.protocol.evidence import sha256
from tests.lab import secret_scan
from tests.lab.faults.drive import avadm, everywhere, healthy

pytestmark = pytest.mark.lab

# Where a secret may lie: pattern, owner (with its group where the group may read), modes.
# Monitors' databases hold every key; their folder is ceph's alone.
ALLOWED = (
    ("/etc/ceph/ceph.client.*.keyring", "root", {0o600}),
    ("/var/lib/ceph/*/*/keyring", "ceph", {0o600}),
    ("/var/lib/ceph/bootstrap-osd/ceph.keyring", "root", {0o600}),
    ("/etc/etcd/pki/etcd.key", "etcd", {0o600}),
    ("/etc/avadm/etcd/store.json", "root", {0o600}),
    ("/etc/kubernetes/pki/*.key", "root", {0o600}),
    ("/etc/kubernetes/encryption.yml", "root", {0o600}),
    ("/etc/kubernetes/pki/*.pem", "root", {0o600}),
    ("/etc/calico/pki/*.key", "root", {0o600}),
    ("/etc/docker/certs.d/*/client.key", "root", {0o600}),
    ("/etc/avadm/*/client.key", "root", {0o600}),
    ("/etc/avadm/admission/server.key", "avadm-admission", {0o600}),
    ("/etc/avadm/pods/client.key", "avadm-pod-targets", {0o600}),
    ("/etc/kube-state-metrics/client.key", "kube-state-metrics", {0o600}),
    ("/etc/avadm/metrics/server.key", "root:prometheus", {0o640}),
    ("/etc/prometheus/tls/*.key", "prometheus", {0o600}),
    ("/etc/prometheus/tls/alertmanager-server.key", "root:prometheus", {0o640}),
    ("/etc/docker-registry/server.key", "docker-registry", {0o600}),
    ("/etc/docker-registry/writer/client.key", "root", {0o600}),
    ("/etc/traefik/client.key", "traefik", {0o600}),
    ("/etc/coredns/client.key", "coredns", {0o600}),
    ("/etc/haproxy/health.pem", "root", {0o600}),
    ("/root/.kube/config", "root", {0o600}),
    ("/etc/avadm/objects/server.key", "ceph", {0o600}),
    ("/etc/avadm/log-shipper/syslog-ng.conf", "root", {0o600}),
    ("/etc/avadm/log-watch/password", "root", {0o600}),
    ("/etc/avadm/logs/store.key", "avadm-logs", {0o600}),
    ("/etc/avadm/logs/store.password", "avadm-logs", {0o600}),
    ("/etc/patroni/config.yml", "postgres", {0o600}),
    ("/etc/patroni/tls/server.key", "postgres", {0o600}),
    ("/var/lib/postgresql/.avadm-pgpass", "postgres", {0o600}),
    # Alluxio keeps a mount's options in its journal, whose folder is root's alone (tests/lab/alluxio).
    ("/var/lib/alluxio/journal/*", "root", {0o600, 0o644}),
)
CEPH_ONLY = ("/var/lib/ceph/mon/*/store.db/*",)
PLACES = "/etc /var/log /var/lib /var/lib/ceph/osd/* /var/spool /var/tmp /tmp /dev/shm /root /home /run /opt /srv /usr/local"

# Prints OWNER:GROUP MODE PATH of each file with a secret; journals and processes by name. Never what was found.
SEARCH = f"""
keys() {{ printf '%s\\n' "$p"; }}
p=$(cat)
for d in {PLACES}; do [ -d $d ] && echo $d; done | xargs -I D find D -xdev -type f -size -65536k -print0 2>/dev/null |
  xargs -0 -r grep -lasF -f <(keys) | xargs -d '\\n' -r stat -c 'file %U:%G %a %n'
journalctl --no-pager -o export 2>/dev/null | grep -aqF -f <(keys) && echo journal root:root 640 journal
true
"""
LIMIT_S = 1000


@pytest.fixture(scope="module")
def vault(lab):
    return Vault.open(lab.site_path)


@pytest.fixture(scope="module")
def needles(lab):
    return secret_scan.needles(lab.site_path)


def ssh(lab, name, script, needles):
    """Run a bash script on a node with the secrets on its standard input; return its output's lines."""
    done = subprocess.run(
        [*lab.argv(name), f"exec bash -c {_quoted(script)}"],
        input=needles, capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{name}: {done.stderr}"
    return done.stdout.splitlines()


def here(script, needles):
    """Run a bash script on this machine with the secrets on its standard input; return its output's lines."""
    done = subprocess.run(["bash", "-c", script], input=needles, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


def _quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def belongs(line):
    """Return whether a line of the search names a file that may hold a secret, with the right owner and mode."""
    kind, owned, mode, path = line.split(" ", 3)
    if kind != "file":
        return False
    owner = owned.split(":")[0]
    if owner == "ceph" and any(fnmatch.fnmatch(path, p) for p in CEPH_ONLY):
        return True
    return any(
        fnmatch.fnmatch(path, p) and o in (owner, owned) and int(mode, 8) in modes for p, o, modes in ALLOWED
    )


@pytest.fixture(scope="module")
def rekeyed(lab, vault, needles):
    """Apply where keys have to be written again, and watch all processes.

    Gives the hashes of the vault's files before, and the processes that had a secret.
    """
    healthy(lab)
    before = {p: sha256(p) for p in (vault.path, vault.password_file)}
    everywhere(lab, "client", "systemctl stop avadm-cephfs; rm -f /etc/ceph/ceph.client.*.keyring")
    with secret_scan.watched(lab, needles) as found:
        done = avadm("apply")
    assert done.returncode == 0, done.stdout + done.stderr
    for client in lab.names("client"):
        lab.sh(client, "ls /etc/ceph/ceph.client.*.keyring")
    healthy(lab)
    return before, found


def test_the_vault_is_private_and_made_once(vault, rekeyed):
    before, _ = rekeyed
    for path in (vault.path, vault.password_file):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert sha256(path) == before[path], f"{path} was made again"


def test_no_process_ever_had_a_secret_in_its_arguments_or_environment(second_run, rekeyed):
    assert second_run.with_secrets == []
    assert rekeyed[1] == []


def test_nodes_hold_secrets_only_where_they_belong(lab, needles):
    holding = 0
    wrong = []
    for node in lab.nodes:
        for line in ssh(lab, node["name"], SEARCH, needles):
            holding += belongs(line)
            if not belongs(line):
                wrong.append(f"{node['name']}: {line}")
    assert holding >= len(lab.nodes), "the search finds nothing where secrets are"
    assert wrong == []


def test_the_controller_holds_no_secret_in_the_clear(lab, needles, vault):
    places = [paths.runs(), paths.home() / ".avadm", vault.path.parent, Path.home() / ".ansible", "/dev/shm"]
    places += [Path.home() / ".bash_history", *Path("/tmp").glob("*ansible*"), *Path("/tmp").glob("avadm*")]
    script = SEARCH.replace(f"for d in {PLACES}", f"for d in {' '.join(str(p) for p in places)}").replace(
        "[ -d", "[ -e"
    )
    handed_over = lab.site_path.with_suffix(".objects.json")
    found = [line for line in here(script, needles) if line != f"file root:root 600 {handed_over}"]
    assert found == []
    # The search sees what there is: the same secret in the clear beside a run is found.
    (paths.runs() / "planted").write_text(needles.splitlines()[0])
    try:
        assert [line for line in here(script, needles) if line.endswith("/planted")]
    finally:
        (paths.runs() / "planted").unlink()

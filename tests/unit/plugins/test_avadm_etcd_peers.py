"""avadm_etcd_peers, and what the role etcd writes by it: members come to their own authority without refusing each other."""

import fnmatch
from datetime import timedelta

import avadm_etcd_peers as module
import pytest

from avadm.doctor.parts import CERTIFICATES
from avadm.pki import certs
from tests.unit.fakes.builders import Signer
from tests.unit.fakes.roles import ROLES, holds, read, tasks, value, variables
from tests.unit.fakes.running import run_command

PAST, KEY = certs.now() - timedelta(days=2), certs.new_key()
SIGNERS = [Signer(f"demo {name}", PAST) for name in ("etcd", "etcd-peers", "etcd-peers")]
FORMER, OWN, RENEWED = (signer.pem for signer in SIGNERS)
OLD, NEW = (signer.leaf("p", KEY, server=True) for signer in SIGNERS[:2])
"""Both have expired: that is no reason to take a member for another one."""


def stage(folder, shown, trusted, authority=OWN):
    for name, text in (("peer.crt", shown), ("peer-ca.crt", trusted)):
        if text is not None:
            (folder / name).write_text(text)
    return module.stage(run_command, str(folder / "peer.crt"), str(folder / "peer-ca.crt"), authority, FORMER)


@pytest.mark.parametrize(
    ("shown", "trusted", "wanted"),
    [
        (None, None, "none"),
        (OLD, None, "old"),
        (OLD, OWN, "old"),
        (OLD, OWN + FORMER, "both"),
        (NEW, OWN + FORMER, "shown"),
        (NEW, None, "shown"),
        (NEW, OWN + "\n", "new"),
    ],
)
def test_the_stage_of_a_member(tmp_path, shown, trusted, wanted):
    found, trust = stage(tmp_path, shown, trusted)
    assert found == wanted
    assert trust == (OWN if wanted in ("none", "new") else OWN + FORMER)


@pytest.mark.parametrize(("trusted", "wanted"), [(OWN, "old"), (RENEWED + OWN, "both")])
def test_a_renewed_authority_of_the_same_name_is_another_one(tmp_path, trusted, wanted):
    """By its name alone it was the same: what the others still showed was no longer trusted."""
    assert stage(tmp_path, NEW, trusted, RENEWED) == (wanted, RENEWED + OWN)


@pytest.mark.parametrize(
    ("shown", "refused"), [(OLD, ["m2"]), (NEW, []), ("", [])], ids=["former", "own", "silent"]
)
def test_a_new_member_does_not_come_to_members_that_would_not_trust_it(shown, refused):
    def asked(argv, data):
        if "s_client" not in argv:
            return run_command(argv, data)
        assert argv[-1] == "10.0.0.2:2380"
        return 1, f"CONNECTED\nServer certificate\n{shown}---\n", "alert bad certificate"

    assert module.strangers(asked, OWN, {"m2": "https://10.0.0.2:2380"}) == refused


def test_a_damaged_certificate_is_not_none(tmp_path):
    with pytest.raises(module.PeersError, match=r"peer\.crt cannot be read"):
        stage(tmp_path, "rubbish", OWN)


def result_of(stage, here):
    """What the role does at a stage, with these of the members m1 and m2 in its run: trusts, shows the new one."""
    have = variables("etcd", "vars") | {
        "etcd_members": {"m1": "https://10.0.0.1:2380", "m2": "https://10.0.0.2:2380"},
        "ansible_play_hosts": here,
        "etcd_peer_ca_certificate": OWN,
        "etcd_ca_certificate": FORMER,
        "_etcd_peers": {"stage": stage, "trusted": "what the module says"},
    }
    (look,) = tasks("etcd", "main", "avadm_etcd_peers")
    missing = value(look["avadm_etcd_peers"]["missing"], **have)
    assert missing == {m: url for m, url in have["etcd_members"].items() if m not in here}
    first = have["_etcd_files"][0]
    assert (first["path"], value(first["content"], **have)) == (TRUSTED, "what the module says")
    (alone,) = tasks("etcd", "main", "etcd_peer_ca_certificate }}'}]")
    assert value(alone["vars"]["_etcd_now"], **have) == [{"path": TRUSTED, "content": OWN}]
    return shows(have), holds(alone["when"], **have)


def shows(have):
    """Whether the new certificate is shown in the end; before the others trust it, a member never has it."""
    have = have | dict.fromkeys(("etcd_server_certificate", "etcd_client_certificate", "etcd_key"), "x")
    have |= {"_etcd_files": [], "etcd_peer_certificate": "new"}
    (end,) = tasks("etcd", "main", "_etcd_may_show")
    (early,) = [one for one in read("etcd", "tasks/main.yml") if "avadm_service" in one]
    paths = [
        [one["path"] for one in value(files, **have)]
        for files in (early["avadm_service"]["files"], end["vars"]["_etcd_now"])
    ]
    peer = [SHOWN in found for found in paths]
    assert not peer[0] or have["_etcd_peers"]["stage"] in ("none", "shown", "new")
    return peer[1]


SHOWN, TRUSTED = "/etc/etcd/pki/peer.crt", "/etc/etcd/pki/peer-ca.crt"
BOTH = ["m1", "m2"]


@pytest.mark.parametrize(
    ("stage", "here", "wanted"),
    [
        ("none", BOTH, (True, False)),
        ("none", ["m1"], (True, False)),
        ("old", BOTH, (True, True)),
        ("old", ["m1"], (False, False)),
        ("both", ["m1"], (False, False)),
        ("both", BOTH, (True, True)),
        ("shown", ["m1"], (True, False)),
        ("shown", BOTH, (True, True)),
        ("new", ["m1"], (True, False)),
        ("new", BOTH, (True, False)),
    ],
)
def test_a_member_goes_on_only_with_all_others(stage, here, wanted):
    """Whether it may show the new certificate, and ends by trusting the new alone."""
    assert result_of(stage, here) == wanted


@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize("stage", ["none", "old", "both", "shown", "new"])
def test_no_one_is_started_before_it_is_known_whether_it_may(stage, running):
    """With what a first start of an older release left in /run, a member without data would found an empty cluster."""
    steps = read("etcd", "tasks/main.yml")
    before = steps.index(tasks("etcd", "main", "avadm_etcd_member")[0])
    (early,) = [t for t in steps[:before] if "run.yml" in str(t)]
    restarts = holds(early["when"], _etcd_peers={"stage": stage, "running": running})
    assert restarts is (running and stage in ("old", "both"))
    assert not [t for t in steps[:before] if t.get("avadm_service", {}).get("name")]


def test_members_trust_another_file_than_clients_do_and_its_end_is_watched():
    text = (ROLES / "etcd/templates/default.j2").read_text()
    assert "ETCD_TRUSTED_CA_FILE=/etc/etcd/pki/ca.crt\n" in text
    assert "ETCD_PEER_TRUSTED_CA_FILE=/etc/etcd/pki/peer-ca.crt\n" in text
    watched = variables("node_exporter")["node_exporter_certificates"]
    for patterns in (CERTIFICATES, watched):
        assert any(fnmatch.fnmatch("/etc/etcd/pki/peer-ca.crt", p) for p in patterns)

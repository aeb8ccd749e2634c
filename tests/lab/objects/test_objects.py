"""The object store of a lab that has one: who may do what, what is kept, and that nothing changes again."""

import json
import ssl
import subprocess
import urllib.request

import pytest

from tests.lab.faults.drive import avadm, latest

pytestmark = [pytest.mark.lab]

# What a customer would write: boto3, and nothing of ours.
LOOK = """
import boto3, json, sys
from botocore.config import Config
job = json.load(sys.stdin)
s3 = boto3.client("s3", endpoint_url=job["endpoint"], region_name="default", verify="/etc/avadm/objects/ca.crt",
                  aws_access_key_id=job["access_key"], aws_secret_access_key=job["secret_key"],
                  config=Config(s3={"addressing_style": job.get("style", "path")}))
buckets = [b["Name"] for b in s3.list_buckets()["Buckets"]]
state = {b: s3.get_bucket_versioning(Bucket=b).get("Status", "") for b in buckets}
s3.put_object(Bucket="lab-data", Key="avadm-test", Body=b"x")
read = s3.get_object(Bucket="lab-data", Key="avadm-test")["Body"].read().decode()
s3.delete_object(Bucket="lab-data", Key="avadm-test")
print(json.dumps({"buckets": state, "read": read}))
"""


@pytest.fixture(autouse=True)
def _there(lab):
    if not lab.names("rgw"):
        pytest.skip("this lab has no object store: lab up --with objects")


@pytest.fixture
def kept(lab):
    return json.loads(lab.site_path.with_suffix(".objects.json").read_text())


def look(lab, job):
    node = lab.names("client")[0]
    return subprocess.run(
        [*lab.argv(node), f"python3 -c '{LOOK}'"],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.core("objects")
def test_a_user_of_the_site_file_finds_its_buckets_with_the_keys_beside_the_site_file(lab, kept):
    done = look(lab, {"endpoint": kept["endpoint"], **kept["users"]["lab-ai"]})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"buckets": {"lab-data": "", "lab-versions": "Enabled"}, "read": "x"}


@pytest.mark.core("objects")
def test_another_user_has_none_of_them(lab, kept):
    done = look(lab, {"endpoint": kept["endpoint"], **kept["users"]["lab-guest"]})
    assert done.returncode != 0
    assert "AccessDenied" in done.stderr


@pytest.mark.parametrize("where", ["gateway", "address"])
def test_without_the_sites_authority_no_one_trusts_the_store(lab, where):
    address = lab.node(lab.names("rgw")[0])["address"] if where == "gateway" else address_of(lab)
    with pytest.raises((ssl.SSLError, OSError), match="certificate verify failed"):
        urllib.request.urlopen(f"https://{address}:7443/", timeout=10)


def address_of(lab):
    """Return the virtual address, which exactly one rgw node holds."""
    found = {}
    for node in lab.names("rgw"):
        text = lab.sh(node, "sed -n 's/^address del //p' /etc/keepalived/addresses.d/*; ip -4 -o addr")
        address = text.split("/")[0]
        found[node] = (address, text.count(f"inet {address}/"))
    assert sum(held for _, held in found.values()) == 1, found
    return next(iter(found.values()))[0]


@pytest.mark.core("objects")
def test_one_node_holds_the_address(lab):
    assert address_of(lab).endswith(".249")


def test_gateways_speak_nothing_but_tls(lab):
    for node in lab.names("rgw"):
        ports = lab.sh(node, "ss -Hltnp | grep radosgw | awk '{print $4}'").split()
        assert ports == [f"{lab.node(node)['address']}:7443"]


def test_quotas_are_as_the_site_file_says(lab):
    info = json.loads(lab.sh(lab.names("mon")[0], "radosgw-admin user info --uid=lab-ai"))
    quota = info["user_quota"]
    assert (quota["enabled"], quota["max_size"], quota["max_objects"]) == (True, 2048 << 20, 100_000)
    guest = json.loads(lab.sh(lab.names("mon")[0], "radosgw-admin user info --uid=lab-guest"))
    assert guest["user_quota"]["enabled"] is False


def test_pools_have_two_copies_by_the_sites_rule_and_the_gateway_may_touch_no_other(lab):
    mon = lab.names("mon")[0]
    pools = {p["pool_name"]: p for p in json.loads(lab.sh(mon, "ceph osd pool ls detail --format json"))}
    ours = {n: p for n, p in pools.items() if n.startswith((".rgw", "default.rgw"))}
    assert len(ours) == 7
    assert {p["size"] for p in ours.values()} == {2}
    assert {tuple(p["application_metadata"]) for p in ours.values()} == {("rgw",)}
    node = lab.names("rgw")[0]
    as_gateway = f"--id rgw.{node} --keyring /var/lib/ceph/radosgw/ceph-rgw.{node}/keyring"
    assert lab.run(node, f"timeout 30 rados {as_gateway} -p rbd ls").returncode != 0
    assert lab.run(node, f"timeout 30 ceph {as_gateway} osd pool create avadm-not").returncode != 0
    assert lab.run(node, f"timeout 30 rados {as_gateway} -p default.rgw.meta ls").returncode == 0


def test_keys_and_certificates_are_for_their_owner_alone(lab):
    for node in lab.names("rgw"):
        for path in ("/etc/avadm/objects/server.key", f"/var/lib/ceph/radosgw/ceph-rgw.{node}/keyring"):
            kept = lab.host(node).file(path)
            assert (kept.mode, kept.user) == (0o600, "ceph")
    assert lab.site_path.with_suffix(".objects.json").stat().st_mode & 0o077 == 0


def test_usage_is_exported_for_every_user(lab):
    node = lab.names("rgw")[0]
    lab.sh(node, "systemctl start avadm-objects-usage")
    text = lab.sh(node, "cat /var/lib/prometheus/node-exporter/avadm-objects-usage.prom")
    assert 'avadm_objects_user_bytes{user="lab-guest"}' in text
    assert f'avadm_objects_user_quota_bytes{{user="lab-ai"}} {2048 << 20}' in text


def test_a_second_run_changes_nothing_and_shows_no_key(lab, kept):
    done = avadm("apply", "objects", "--force")
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads((latest() / "summary.json").read_text())
    assert {name: h["changed"] for name, h in summary["hosts"].items() if h["changed"]} == {}
    secrets = [pair["secret_key"] for pair in kept["users"].values()]
    texts = [p.read_text(errors="replace") for p in latest().rglob("*") if p.is_file()]
    assert not [s for s in secrets if any(s in t for t in [*texts, done.stdout, done.stderr])]


def test_a_quota_that_was_switched_off_by_hand_is_found_and_put_right(lab, kept):
    mon = lab.names("mon")[0]
    lab.sh(mon, "radosgw-admin quota disable --quota-scope=user --uid=lab-ai")
    assert avadm("apply", "objects").returncode == 0
    info = json.loads(lab.sh(mon, "radosgw-admin user info --uid=lab-ai"))
    assert info["user_quota"]["enabled"] is True
    assert info["keys"][0]["secret_key"] == kept["users"]["lab-ai"]["secret_key"]

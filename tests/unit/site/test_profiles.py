"""What the profiles say of packages: each has a source, and what signs a source can be read by the oldest apt."""

import base64
from pathlib import Path

import pytest
import yaml

from avadm.render import core
from avadm.site import profile
from avadm.sitefile import openpgp
from nodeside.preflight.packages import trusted
from tests.unit.fakes import sites
from tests.unit.fakes.roles import written

ROLES = Path(__file__).parents[3] / "roles"
KEY = b"\x99\x01\x0d\x04" + bytes(range(60))
OWN = {
    "apt-transport-https", "ca-certificates", "chrony", "conntrack", "curl", "e2fsprogs", "ebtables", "ethtool", "fio",
    "haproxy", "iperf3", "iproute2", "ipset", "iptables", "keepalived", "libfuse2", "lsb-release", "lvm2", "nftables",
    "openjdk-8-jre-headless", "python-apt", "python3", "python3-boto3", "python3-psycopg2", "socat", "util-linux",
}  # fmt: skip
"""Packages of Ubuntu 16.04 itself that do."""


def armour(data: bytes, kind: str = "PUBLIC") -> str:
    body = base64.b64encode(data).decode()
    lines = [body[i : i + 64] for i in range(0, len(body), 64)]
    checksum = "=" + base64.b64encode(openpgp.crc24(data).to_bytes(3)).decode()
    frame = f"PGP {kind} KEY BLOCK-----\n"
    return "\n".join([f"-----BEGIN {frame}Version: a test\n", *lines, checksum, f"-----END {frame}"])


def test_each_package_of_the_stated_profile_has_one_source() -> None:
    stated = profile.load("stated")
    named = [p for source in stated.sources.values() for p in source.packages]
    assert len(named) == len(set(named)), "one source for each"
    wanted = {p.partition("=")[0] for packages in stated.packages.values() for p in packages}
    assert sorted(wanted - set(named)) == sorted(OWN)
    assert sorted(set(named) - wanted) == [], "no source names what nobody installs"


def test_the_stated_etcd_is_one_that_can_grow_from_one_member() -> None:
    """Learners came with 3.4; the package `etcd` of Ubuntu 16.04 is 2.2."""
    stated = profile.load("stated")
    assert stated.versions["etcd"] == "3.4."
    assert {stated.source_of(p) for p in stated.packages["etcd"]} == {"site"}
    assert stated.source_of("docker-ce=17.03.*") == "docker"
    assert stated.source_of("curl") == ""


def test_a_key_comes_to_nodes_as_every_apt_reads_it() -> None:
    site = sites.site(sites.node("a", 1), packages={"keys": {"ceph": armour(KEY)}})
    out = sites.render(site, core, profile="stated")
    assert {name: base64.b64decode(key) for name, key in out.all["base_apt_keys"].items()} == {"ceph": KEY}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no text from"),
        (armour(KEY, "PRIVATE"), "no text from"),
        (armour(b"\x95" + KEY), "something else than a public key"),
        (armour(KEY).replace("Ag", "Bg", 1), "checksum differs"),
        (armour(KEY).replace("\n\n", "\n\n!!\n", 1), "not base64"),
    ],
)
def test_what_is_no_public_key_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        openpgp.binary(text)


def test_the_role_base_writes_each_key_into_a_file_of_its_own() -> None:
    tasks = yaml.safe_load((ROLES / "base/tasks/main.yml").read_text())
    files = [f for task in tasks for f in task.get("avadm_service", {}).get("files", [])]
    keys = [f for f in files if "base_apt_keys" in str(f.get("each"))]
    made = written(keys, base_apt_keys={"ceph": "mQEN", "docker": "mQEO"})
    assert {path: one["base64"] for path, one in made.items()} == {
        "/etc/apt/trusted.gpg.d/avadm-ceph.gpg": "mQEN",
        "/etc/apt/trusted.gpg.d/avadm-docker.gpg": "mQEO",
    }
    assert written(keys, base_apt_keys={}) == {}


def test_preflight_asks_with_the_sites_keys_and_the_nodes_own(tmp_path: Path) -> None:
    (option,) = trusted({"ceph": base64.b64encode(KEY).decode()}, str(tmp_path / "trusted"))[1:]
    assert option == f"Dir::Etc::TrustedParts={tmp_path}/trusted"
    assert (tmp_path / "trusted/avadm-ceph.gpg").read_bytes() == KEY
    there = {p.name for p in Path("/etc/apt/trusted.gpg.d").glob("*")}
    assert there <= {p.name for p in (tmp_path / "trusted").iterdir()}

"""What the profiles say of packages: each has a source, and what signs a source can be read by the oldest apt."""

import base64
import fnmatch
from pathlib import Path

import pytest
import yaml

from avadm.components.base import variables as core
from avadm.errors import AvadmError
from avadm.site import openpgp, profile
from avadm.site.load import examine
from avadm_node.probes.preflight.packages import trusted
from tests.unit.fakes import sites
from tests.unit.fakes.roles import written
from tests.unit.site.corpus import BASE

ROLES = Path(__file__).parents[3] / "roles"
PROFILES = Path(profile.__file__).parent / "profiles"
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
    has = {package: [s.what for s in stated.sources.values() if s.has(package)] for package in wanted}
    assert max(map(len, has.values())) == 1
    assert sorted(package for package, found in has.items() if not found) == sorted(OWN)
    assert [n for n in named if not fnmatch.filter(wanted, n)] == [], "no source names what is not installed"


def test_the_stated_etcd_is_one_that_can_grow_from_one_member() -> None:
    """Learners came with 3.4; the package `etcd` of Ubuntu 16.04 is 2.2."""
    stated = profile.load("stated")
    assert stated.versions["etcd"] == "3.4."
    assert {stated.source_of(p) for p in stated.packages["etcd"]} == {"site"}
    assert stated.source_of("docker-ce=17.03.*") == "docker"
    assert stated.source_of("prometheus-node-exporter") == "site"
    assert stated.source_of("curl") == ""


def test_debian_12_is_of_debian_but_for_what_it_says() -> None:
    """What is not in Debian's section main has its source; nothing of it is named that is not installed."""
    debian = profile.load("debian-12")
    assert debian.system == "Debian 12"
    named = {p for source in debian.sources.values() for p in source.packages}
    wanted = {p.partition("=")[0] for packages in debian.packages.values() for p in packages}
    assert named <= wanted
    assert {p for p in wanted if "nvidia" in p or "cuda" in p or "nvcuvid" in p} <= named
    assert debian.source_of("grafana") == "grafana" and debian.source_of("linux-headers-amd64") == ""


def test_debian_12_is_a_site_with_the_kernels_own_clients_and_the_lab_is_not() -> None:
    site, lab = profile.load("debian-12"), profile.load("lab-bookworm")
    kinds = ("acceptance", "ceph_osd_backend", "cephfs_client", "rbd_map", "rbd_client")
    assert [site.features[k] for k in kinds] == ["site", "lvm", "kernel", "krbd", "krbd"]
    assert [lab.features[k] for k in kinds] == ["lab", "raw", "fuse", "rbd-fuse", "librbd"]
    assert {c for c in site.versions if site.versions[c] != lab.versions[c]} == {"gpu_driver"}
    assert "gpu_driver" not in lab.packages, "there are stand-ins"
    assert {r for r in site.packages if site.packages[r] != lab.packages.get(r)} == {
        "gpu_driver",
        "ceph_client",
    }


def test_what_all_profiles_share_stands_once_and_is_no_profile() -> None:
    """Each may say it otherwise; what none does, and all have, is nowhere but in the common file."""
    assert "_common" not in profile.names()
    with pytest.raises(AvadmError):
        profile.load("_common")
    files = {p.stem: yaml.safe_load(p.read_text()) for p in PROFILES.glob("*.yml")}
    own = [data for data in files.values() if data.get("inherits") == "_common"]
    for key in ("versions", "packages"):
        common = files["_common"][key]
        assert [n for data in own for n, value in data[key].items() if common.get(n) == value] == []
        assert set(common) <= set(profile.load("stated").model_dump()[key])


OWN_PROFILE = """
inherits: debian-12
versions: {docker: "20.10.24"}
packages: {grafana: null}
features: {rbd_map: rbd-fuse}
"""


def test_a_site_has_a_profile_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/ours.yml").write_text(OWN_PROFILE)
    ours, debian = profile.load_file(tmp_path / "sub/ours.yml"), profile.load("debian-12")
    assert (
        ours.name == "ours.yml" and ours.os == debian.os and ours.kernel_arguments == debian.kernel_arguments
    )
    assert ours.versions == debian.versions | {"docker": "20.10.24"}
    assert "grafana" not in ours.packages and ours.packages["docker"] == debian.packages["docker"]
    assert ours.features == debian.features | {"rbd_map": "rbd-fuse"}
    (tmp_path / "site.yml").write_text(BASE.replace("profile: lab-bookworm", "profile: sub/ours.yml"))
    site_file, findings = examine(tmp_path / "site.yml")
    assert findings == [] and site_file is not None and site_file.profile == ours


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("inherits: debian-13", "inherits: debian-13"),
        ("inherits: ./other.yml", "inherits: ./other.yml"),
        ("inherits: _common", "inherits: _common"),
        ("- a", "no mapping"),
        ("inherits: debian-12\nfeature: {}", "feature: Extra inputs"),
        ("inherits: debian-12\nversions: [a]", "versions: ['a']"),
        ("inherits: debian-12\nkernel_arguments: {nobody: [x]}", "kernel_arguments"),
        ("inherits: debian-12\nname: x", "name"),
        ("os: {distribution: Debian}", "glibc: Field required"),
        ("a: b: c: super-secret", "invalid YAML: mapping values are not allowed here"),
    ],
)
def test_what_is_no_profile_is_refused_at_the_site_files_line(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "ours.yml").write_text(text)
    (tmp_path / "site.yml").write_text(BASE.replace("profile: lab-bookworm", "profile: ./ours.yml"))
    site_file, findings = examine(tmp_path / "site.yml")
    (finding,) = findings
    assert site_file is None and "site.yml:2" in finding.where
    assert message in finding.found and finding.remedy and "debian-12" in finding.wanted
    assert "super-secret" not in str(finding), "the file named may be another, with secrets in it"


def test_a_key_comes_to_nodes_as_every_apt_reads_it() -> None:
    site = sites.site(sites.node("a", 1), packages={"keys": {"ceph": armour(KEY)}})
    out = sites.render(site, core, profile="stated")
    assert {name: base64.b64decode(key) for name, key in out.all["base_apt_keys"].items()} == {"ceph": KEY}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no text from"),
        (armour(KEY, "PRIVATE"), "no text from"),
        (armour(b"\x95" + KEY), "something else than a public key"),
        (armour(KEY).replace("Ag", "Bg", 1), "checksum differs"),
        (armour(KEY).replace("\n\n", "\n\n!!\n", 1), "not base64"),
    ],
)
def test_what_is_no_public_key_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
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

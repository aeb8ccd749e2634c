"""What the support matrix says is refused is refused by `site check`, with the finding that the page or this table names."""

import copy

import pytest
import yaml

from avadm.findings import errors
from avadm.site.load import examine
from tests.unit.site.test_examples import ROOT

PAGE = (ROOT / "docs/reference/support-matrix.md").read_text()
SITE = yaml.safe_load((ROOT / "inventory/minimal.yml").read_text())


def device(site):
    return site["nodes"][0]["devices"][0]


REFUSALS = {
    # Row of the page: what a site file would say, the finding, and a word of it.
    "OSDs of several device classes": [
        (lambda s: device(s).update(device_class="hdd"), "device-classes-mixed", "hdd"),
    ],
    "devices for DB and WAL, lvmcache, dm-crypt": [
        (lambda s: device(s).update(use="db"), "wrong-value", "db"),
        (lambda s: device(s).update(use="wal"), "wrong-value", "wal"),
        (lambda s: device(s).update(db={"serial": "X"}), "unknown-key", "db"),
        (lambda s: device(s).update(wal={"serial": "X"}), "unknown-key", "wal"),
        (lambda s: device(s).update(dmcrypt=True), "unknown-key", "dmcrypt"),
        (lambda s: device(s).update(lvmcache=True), "unknown-key", "lvmcache"),
    ],
    "HTTP proxy with a user and password": [
        (
            lambda s: s.update(packages={"internet_proxy": "http://a:b@10.0.0.5:3128"}),
            "url-password",
            "…@10.0.0.5",
        ),
    ],
    "multipath, SAN": [
        (lambda s: s["nodes"][0]["devices"].append(dict(device(s))), "duplicate-device", "MINIMAL001D01"),
    ],
    "IPv6": [
        (lambda s: s["nodes"][0].update(address="fd00::11"), "wrong-value", "fd00::11"),
        (lambda s: s["network"].update(management="fd00::/64"), "wrong-value", "fd00::/64"),
        (lambda s: s["network"].update(api_vip="fd00::99"), "wrong-value", "fd00::99"),
        (lambda s: s["network"].update(pods="fd01::/64"), "wrong-value", "fd01::/64"),
    ],
    "RHEL and its relatives": [
        (lambda s: s.update(profile="rhel-9"), "unknown-profile", "rhel-9"),
    ],
    "bonds, VLANs": [
        (lambda s: s["network"].update(bond="bond0"), "unknown-key", "bond"),
        (lambda s: s["network"].update(vlan=12), "unknown-key", "vlan"),
    ],
}
PLANTED = [(row, *one) for row, several in REFUSALS.items() for one in several]


@pytest.mark.parametrize(
    ("row", "plant", "check", "word"), PLANTED, ids=lambda v: v if isinstance(v, str) else ""
)
def test_what_the_page_says_is_refused_is_refused(row, plant, check, word, tmp_path):
    (line,) = [line for line in PAGE.split("\n") if line.startswith(f"| {row} |")]
    assert f"`{check}`" in line
    site = copy.deepcopy(SITE)
    plant(site)
    (tmp_path / "site.yml").write_text(yaml.safe_dump(site))
    site_file, findings = examine(tmp_path / "site.yml")
    assert site_file is None
    (finding,) = [f for f in errors(findings) if f.check == check]
    assert word in f"{finding.what} {finding.where} {finding.found}"
    assert finding.remedy


def test_each_row_that_speaks_of_refusing_is_planted_or_is_no_matter_of_the_site_file():
    others = {
        "a boot loader other than GRUB",  # refused by bootstrap on the node
        "Secure Boot with NVIDIA's driver of Debian",  # a setting of the machine
        "upgrade of ceph or Kubernetes to another release",  # a verb that does not exist
    }
    rows = [line.split(" | ") for line in PAGE.split("\n") if line.startswith("| ")]
    refusing = {
        r[0].removeprefix("| ")
        for r in rows
        if any(w in r[1] for w in ("refused", "not supported", "not configured"))
    }
    assert refusing == {*REFUSALS, *others}

"""`avadm disk`, as a user types it; the node's answers are made up."""

import json
import stat
import subprocess
from types import SimpleNamespace

import pytest
import yaml
from click.testing import CliRunner
from disk_fakes import report

from avadm.cli.main import cli
from avadm.disks import zap
from avadm.disks.nodes import Disk, choose
from avadm.site.vault import Vault
from avadm_node.probes.disks.rotation import rotates
from tests.unit.fakes.cli import refusal
from tests.unit.fakes.nodes import answer


@pytest.fixture
def avadm(node, site_path, monkeypatch):
    monkeypatch.setattr("avadm.cli.disk._fleet", lambda site_file: node)

    def run(*words, stdin=""):
        argv = ["--site", str(site_path), "disk", *words]
        return CliRunner().invoke(cli, argv, input=stdin, standalone_mode=False)

    return run


@pytest.mark.parametrize("name", ["SER7", "ata-INTEL_X_SER7", "/dev/disk/by-id/ata-INTEL_X_SER7", "sdb"])
def test_a_disk_is_chosen_by_the_serial_number_in_its_link_too(name):
    disks = [
        Disk("stor1", report("sdb", serial="", links=["/dev/disk/by-id/ata-INTEL_X_SER7"])),
        Disk("stor1", report("sdc")),
    ]
    assert choose(disks, name) == disks[0]


def test_a_serial_number_in_two_links_chooses_none():
    links = [["/dev/disk/by-id/ata-A_SER7"], ["/dev/disk/by-id/scsi-B_SER7"]]
    found = choose(
        [Disk("stor1", report(f"sd{n}", serial="", links=one)) for n, one in zip("bc", links, strict=True)],
        "SER7",
    )
    assert (found.check, found.where) == ("disk-name", "SER7")
    assert "sdb" in found.found and "sdc" in found.found


@pytest.fixture
def zapped(avadm):
    return lambda *words, serial="SER-sdb": avadm("zap", "stor1", "sdb", "--yes-i-lose", serial, *words)


@pytest.fixture
def entry(tmp_path):
    """Return a function: the folder of the one zap that was written down, and what it says."""

    def read():
        (path,) = tmp_path.glob("runs/*-disk-zap/zap.json")
        return path.parent, json.loads(path.read_text())

    return read


def test_list_tells_what_is_on_each_disk_and_why_it_is_refused(avadm, node):
    node.disks += [
        report("sdc", state="refused", reasons=["is mounted at /"], content=["ext4"]),
        report("sdd", state="osd", osd={"id": 3, "fsid": "u"}, approved=["serial X"]),
    ]
    result = avadm("list", "--limit", "stor1")
    assert result.return_value == 0
    for word in ("/dev/sdb", "4.0 TB", "SER-sdb", "blank", "ext4", "is mounted at /", "osd.3", "yes"):
        assert word in result.output


def test_list_json_has_one_entry_for_each_disk(avadm):
    data = json.loads(avadm("list", "--json").output)
    assert [d["node"] for d in data["disks"]] == ["stor1", "stor2", "c1"]
    assert data["disks"][0]["verdict"] == "blank"


def test_list_without_a_node_that_answers_could_not_run(avadm, node):
    node.error = "no route"
    result = avadm("list", "--json")
    assert result.return_value == 2
    assert {f["host"] for f in json.loads(result.output)["findings"]} == {"stor1", "stor2", "c1"}


@pytest.mark.parametrize(
    "name", ["sdb", "/dev/sdb", "SER-sdb", "0xsdb", "wwn-sdb", "/dev/disk/by-id/wwn-sdb"]
)
def test_approve_takes_every_name_of_a_disk(avadm, site_path, name):
    assert "1 approved" in avadm("approve", "stor2", name).output
    devices = yaml.safe_load(site_path.read_text())["nodes"][1]["devices"]
    assert devices == [{"by_id": "/dev/disk/by-id/wwn-sdb"}]


@pytest.mark.parametrize("node_name", ["stor1", "stor2"])
def test_approve_only_adds(avadm, site_path, node_name):
    before = site_path.read_text()
    site_path.chmod(0o640)
    result = avadm("approve", node_name, "sdb")
    after = site_path.read_text()
    own = [line for line in after.splitlines() if "wwn-sdb" not in line and line != "    devices:"]
    assert own == before.splitlines()
    assert stat.S_IMODE(site_path.stat().st_mode) == 0o640
    assert "+" in result.output
    assert "wwn-sdb" in result.output


def test_approve_of_a_node_that_may_have_none_leaves_the_file_alone(avadm, site_path):
    before = site_path.read_text()
    assert refusal(avadm("approve", "c1", "sdb"))
    assert site_path.read_text() == before
    assert [p.name for p in site_path.parent.iterdir() if p.name.startswith(".site")] == []


def test_approve_where_a_node_is_written_on_one_line(avadm, site_path):
    text = site_path.read_text()
    line = "  - {name: stor2, address: 10.0.0.2, roles: [osd]}  # second\n"
    start, end = text.index("  - name: stor2"), text.index("  - {name: c1")
    site_path.write_text(text[:start] + line + text[end:])
    avadm("approve", "stor2", "sdb")
    after = site_path.read_text()
    assert yaml.safe_load(after)["nodes"][1]["devices"] == [{"by_id": "/dev/disk/by-id/wwn-sdb"}]
    assert "# second" in after
    assert "filesystem: null" in after


@pytest.mark.parametrize(
    ("kernel", "rotational", "words", "wanted"),
    [
        ("sdb", True, (), "hdd"),
        ("nvme0n1", False, (), "nvme"),
        ("sdb", False, (), None),
        ("sdb", True, ("--device-class", "ssd"), "ssd"),
    ],
)
def test_approve_tells_kinds_apart(avadm, node, site_path, kernel, rotational, words, wanted):
    text = site_path.read_text().replace("  # slot 1", f"\n        device_class: {wanted or 'ssd'}")
    site_path.write_text(text)
    node.disks = [report(kernel, rotational=rotational)]
    assert "1 approved" in avadm("approve", "stor2", kernel, *words).output
    (device,) = yaml.safe_load(site_path.read_text())["nodes"][1]["devices"]
    assert device.get("device_class") == wanted


def test_approve_does_not_guess_what_is_behind_a_virtual_disk(avadm, node, site_path):
    node.disks = [report("vdb", rotational=None, numbers="254:16"), report("sdc")]
    before = site_path.read_text()
    found = refusal(avadm("approve", "stor2", "vdb", "sdc"))
    assert (found.check, found.where) == ("disk-class", "/dev/disk/by-id/wwn-vdb")
    assert "--device-class" in found.remedy
    assert site_path.read_text() == before
    assert "1 approved" in avadm("approve", "stor2", "vdb", "--device-class", "ssd").output


@pytest.mark.parametrize(
    ("kernel", "flag", "model", "wanted"),
    [
        ("sda", "1", "ST4000NM0023", True),
        ("sda", "0", "ST4000NM0023", False),
        ("vda", "1", None, None),
        ("vda", "0", None, False),
        ("xvdb", "1", None, None),
        ("sda", "1", "QEMU HARDDISK   ", None),
        ("sda", "1\n", "Virtual disk", None),
        ("loop0", "0", None, None),
        ("sda", None, None, None),
        ("nvme0n1", "0", "Q", False),
    ],
)
def test_a_kernel_knows_nothing_of_what_is_behind_a_virtual_disk(kernel, flag, model, wanted):
    assert rotates(kernel, flag, model) is wanted


def test_approve_refuses_what_is_not_blank_with_all_its_reasons_and_writes_nothing(avadm, node, site_path):
    refused = report("sdc", state="refused", reasons=["is mounted at /", "has partitions: sdc1"])
    node.disks = [report("sdb"), refused]
    before = site_path.read_text()
    found = refusal(avadm("approve", "stor2", "sdb", "sdc"))
    assert found.found == "is mounted at /; has partitions: sdc1"
    assert site_path.read_text() == before


def test_approve_names_every_wrong_name(avadm):
    result = avadm("approve", "stor2", "sdx", "sdy")
    assert [f.where for f in result.exception.findings] == ["sdx", "sdy"]


def test_approve_of_an_approved_disk_changes_nothing(avadm, node, site_path):
    node.disks = [report(approved=["serial S"])]
    before = site_path.read_text()
    assert "0 approved, 1 were already" in avadm("approve", "stor1", "sdb").output
    assert site_path.read_text() == before


def test_an_unknown_node(avadm):
    assert refusal(avadm("approve", "stor9", "sdb")).check == "unknown-node"


def test_zap_by_its_serial_is_written_down(zapped, entry):
    assert "Erased and proven blank: stor1 /dev/sdb" in zapped().output
    folder, data = entry()
    assert (data["result"], data["disk"]["serial"], data["disk"]["node"]) == ("blank", "SER-sdb", "stor1")
    assert data["who"] and data["when"]
    assert "SER-sdb: blank" in (folder / "log.txt").read_text()


@pytest.mark.parametrize("typed", ["SER-sdc", "sdb", "ser-sdb", ""])
def test_zap_with_a_wrong_serial_touches_nothing(zapped, node, tmp_path, typed):
    assert refusal(zapped(serial=typed)).check == "disk-confirm"
    assert not node.erased
    assert not list(tmp_path.glob("runs/*"))


def test_zap_without_a_terminal_and_a_serial_touches_nothing(avadm, node):
    assert "--yes-i-lose SER-sdb" in refusal(avadm("zap", "stor1", "sdb")).remedy
    assert not node.erased


def test_zap_refuses_what_is_used_before_it_asks(zapped, node):
    node.answers["disks.zap.look"]["reasons"] = ["is mounted at /"]
    assert refusal(zapped()).found == "is mounted at /"
    assert not node.erased


OURS, OTHER = "our-fsid", "other-fsid"


def marked(node, cluster, unread=""):
    """Let the disk be refused by its node, which was reinstalled, and bear an OSD's mark."""
    node.disks = [report(state="refused", reasons=["what ceph has written on it cannot be read"])]
    osds = [] if unread else [{"id": 3, "fsid": "u", "cluster": cluster}]
    node.answers["disks.zap.look"] = {"reasons": [], "osds": osds, "unread": unread}


@pytest.fixture
def vault(site_path):
    Vault.open(site_path).ensure({"vault_ceph_fsid": lambda: OURS})


@pytest.mark.usefixtures("vault")
@pytest.mark.parametrize("cluster", [OURS, None, OTHER], ids=["ours", "unknown", "another's"])
@pytest.mark.parametrize(
    ("osds", "word"),
    [({"osds": [{"uuid": "u", "osd": 3}]}, "ceph osd purge 3"), (None, "no monitor")],
    ids=["known", "no server answers"],
)
def test_zap_refuses_an_osd_that_the_cluster_has_or_may_have(zapped, node, cluster, osds, word):
    marked(node, cluster)
    node.osds = osds
    assert word in refusal(zapped()).found
    assert not node.erased


@pytest.mark.usefixtures("vault")
def test_zap_refuses_a_label_that_no_one_can_read(zapped, node):
    marked(node, None, unread="a bluestore label at byte 0 that cannot be read")
    assert "is taken for an OSD of this cluster" in refusal(zapped()).found
    assert not node.erased


@pytest.mark.usefixtures("vault")
@pytest.mark.parametrize("cluster", [OURS, OTHER])
@pytest.mark.parametrize("osds", [{"osds": []}, "none"], ids=["purged", "no cluster yet"])
def test_zap_takes_an_osd_that_the_monitors_do_not_know(zapped, node, cluster, osds):
    marked(node, cluster)
    node.osds = osds
    assert "Erased" in zapped().output


@pytest.mark.parametrize("cluster", [OTHER, None])
@pytest.mark.parametrize(
    ("osds", "word"),
    [("none", "Erased"), ({"osds": [{"uuid": "u", "osd": 3}]}, "purge 3"), (None, "no monitor")],
)
def test_zap_asks_the_monitors_also_where_this_controller_has_no_vault(zapped, node, cluster, osds, word):
    marked(node, cluster)
    node.osds = osds
    done = zapped()
    if word == "Erased":
        assert word in done.output
    else:
        assert word in refusal(done).found
        assert not node.erased


@pytest.mark.parametrize(
    ("made", "rc"),
    [
        ([], 66),
        (["mon/ceph-m1/store.db"], 0),
        (["mon.json"], 0),
        (["mon/ceph-m1", "mon.json"], 0),
        (["ceph.conf"], 0),
    ],
)
def test_a_monitor_whose_store_is_away_is_no_monitor_that_never_was(tmp_path, monkeypatch, made, rc):
    for name in made:
        (tmp_path / name).mkdir(parents=True)
    messages = []

    class Shell:
        def run(self, node, command, *, timeout):
            line = command.replace("/var/lib/ceph", str(tmp_path))
            for path in (zap.MARK, zap.CONFIG):
                line = line.replace(path, str(tmp_path / path.rpartition("/")[2]))
            messages.append(subprocess.run(["sh", "-c", f"ceph() {{ return 0; }}; {line}"]).returncode)
            return answer(node, command, rc=messages[-1])

    zap._known(Shell(), SimpleNamespace(with_role=lambda role: [SimpleNamespace(name="m1")]))
    assert messages == [rc]


@pytest.mark.usefixtures("vault")
def test_nodes_are_reported_which_cluster_is_ours(avadm, node):
    avadm("list")
    assert node.given["fsid"] == OURS


def test_zap_that_leaves_something_says_so(zapped, node, entry):
    node.answers["disks.zap.zap"]["after"] = report(state="refused", reasons=["has data at byte 9"])
    assert refusal(zapped()).found == "has data at byte 9"
    assert entry()[1]["result"] == "not blank"


def test_zap_whose_connection_broke_is_written_down_as_not_known(zapped, node, entry):
    node.answers["disks.zap.zap"] = "no JSON object"
    assert refusal(zapped())
    assert entry()[1]["result"] == "not known"


def test_zap_waits_for_no_other_user_at_work_on_the_site(zapped, node):
    lock = node.locks.path("stor1", "/var/lib/avadm/t/lock")
    lock.parent.mkdir(parents=True)
    lock.write_text(json.dumps({"token": "theirs", "verb": "apply", "host": "elsewhere", "user": "ann"}))
    found = refusal(zapped())
    assert found.check == "cluster-locked"
    assert "`avadm apply`" in found.found
    assert "ann" in found.found
    assert not node.erased
    result = zapped("--break-lock")
    assert "Broke the lock of `avadm apply`" in result.stderr
    assert "Erased" in result.output
    assert not lock.exists()

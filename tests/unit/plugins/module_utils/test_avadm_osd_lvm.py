"""ownership and avadm_ceph_osd with ceph-volume: whose a volume is, and how one is made, refused and activated."""

import pytest
from ansible.module_utils import avadm_osd_maker
from fake_osd import DONE, OURS, THEIRS, UUID, judge, volume_on

SSD = ("--crush-device-class", "ssd")
lvm = pytest.mark.parametrize("node", ["lvm"], indirect=True)


@pytest.mark.parametrize("cluster,state", [(OURS, "osd"), (THEIRS, "refused")])
def test_an_osd_on_a_logical_volume(machine, cluster, state):
    volume_on(machine, machine.add_disk(), cluster, label=DONE)
    assert judge(machine)[0] == state


@pytest.mark.parametrize("label", [None, {"ceph_fsid": OURS}])
def test_a_logical_volume_with_tags_and_no_finished_osd_is_refused_with_a_remedy(machine, label):
    volume_on(machine, machine.add_disk(), label=label)
    state, _osd, device = judge(machine)
    assert (state, len(device.reasons)) == ("refused", 1)
    assert "carries osd.4, whose making was cut off" in device.reasons[0]
    assert "`ceph osd purge-new osd.4 --yes-i-really-mean-it`" in device.reasons[0]


def test_a_logical_volume_that_cannot_be_read_is_not_called_unfinished(machine):
    volume_on(machine, machine.add_disk(), label=DONE)
    machine.answers["ceph-bluestore-tool"] = (1, "", "Input/output error")
    state, _osd, device = judge(machine)
    assert (state, "purge-new" in device.reasons[0]) == ("refused", False)
    assert "cannot be read: ceph-bluestore-tool: Input/output error" in device.reasons[0]


@lvm
def test_a_volume_group_is_made_right_after_the_last_look_and_never_by_force(machine, node):
    disk = machine.add_disk()
    machine.answers["ceph-volume"] = (0, "{}", "")
    ceph, _maker, apply, _state = node
    assert apply() == (True, [4], [4])
    made = [argv for argv, _d in ceph.calls if argv[0] in ("vgcreate", "lvcreate", "ceph-volume")]
    group, volume = made[0][1], made[1][-2]
    assert made == [
        ["vgcreate", group, str(disk)],
        ["lvcreate", "--extents", "100%FREE", "--name", volume, group],
        ["ceph-volume", "lvm", "create", "--bluestore", "--data", f"{group}/{volume}", *SSD],
    ]
    # Asked whether to overwrite a signature, they get "no".
    assert {data for argv, data in ceph.calls if argv[0] in ("vgcreate", "lvcreate")} == {"n\n"}
    assert not {"--force", "-f", "--yes", "-y", "-ff"} & {word for argv in made for word in argv}


@lvm
def test_a_device_is_left_as_it_is_where_no_monitor_answers_and_where_lvm_says_no(machine, node):
    machine.add_disk()
    ceph, _maker, apply, _state = node
    ceph.fails = {"vgcreate": "xfs signature detected. Aborted wiping of xfs."}
    with pytest.raises(avadm_osd_maker.OsdError, match=r"making a volume group failed.*xfs signature"):
        apply()
    ceph.fails = {"ceph": "timed out"}
    before = len(ceph.calls_of("vgcreate"))
    with pytest.raises(avadm_osd_maker.OsdError, match="asking the monitors failed"):
        apply()
    assert (len(ceph.calls_of("vgcreate")), ceph.calls_of("ceph-volume")) == (before, [])


@lvm
def test_a_key_that_ceph_volume_shows_is_masked(machine, node):
    machine.add_disk()
    ceph, _maker, apply, _state = node
    ceph.fails = {"ceph-volume": "Running command: ceph-authtool k --name osd.4 --add-key AQB1== \nboom"}
    ceph.mkfs = [1]
    with pytest.raises(avadm_osd_maker.OsdError, match="boom") as caught:
        apply()
    assert "AQB1" not in str(caught.value)


@lvm
def test_an_lvm_osd_without_its_folder_is_activated_once(machine, node):
    volume_on(machine, machine.add_disk(), label=DONE)
    ceph, _maker, apply, state = node
    ceph.active.add("ceph-osd@4")
    assert apply() == (True, [], [])
    assert [argv for argv, _d in ceph.calls_of("ceph-volume")] == [
        ["ceph-volume", "lvm", "activate", "--bluestore", "4", UUID]
    ]
    (state / "osd-4").mkdir(parents=True)
    (state / "osd-4/fsid").write_text(UUID + "\n")
    assert apply() == (False, [], [])
    assert len(ceph.calls_of("ceph-volume")) == 1


@lvm
def test_an_lvm_osd_is_not_activated_over_another_osd(machine, node):
    volume_on(machine, machine.add_disk(), label=DONE)
    ceph, _maker, apply, state = node
    (state / "osd-4").mkdir(parents=True)
    (state / "osd-4/fsid").write_text("someone\n")
    with pytest.raises(avadm_osd_maker.OsdError, match="belongs to another OSD"):
        apply()
    assert ceph.calls_of("ceph-volume") == []

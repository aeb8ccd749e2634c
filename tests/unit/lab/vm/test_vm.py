"""The virtual machine of `make vm`: what it is made of and what is run in it, without starting one."""

from pathlib import Path

from avadm.site import profile
from avadm.site.load import SiteFile
from avadm_lab.process import CompletedCommand
from avadm_lab.vm import image, machine, trial
from tests.unit.fakes import sites


def test_it_runs_what_the_stated_profile_asks_of_a_kernel(tmp_path: Path) -> None:
    """Else it would show again what the lab's containers show: raw OSDs, ceph-fuse, rbd-fuse."""
    made = sites.rendered(SiteFile(tmp_path / "site.yml", trial.site(), trial.profile()))
    stated = profile.load("stated").features
    assert {made.all["ceph_osd_backend"]} == {stated["ceph_osd_backend"]} == {"lvm"}
    assert made.all["ceph_client_kind"] == "kernel"
    assert made.all["ceph_rbd_rule"] == made.all["ceph_fs_rule"] == trial.RULE
    assert "base_own_kernel" not in made.all, "a setting that the kernel refuses is an error here"


def test_the_tasks_that_need_a_kernel_are_the_roles_own() -> None:
    ((play,)) = trial.kernel_play()
    kinds = [kind for task in play["tasks"] for kind in task if kind.startswith("avadm_")]
    assert kinds == ["avadm_kernel_modules", "avadm_swap_off", "avadm_sysctl"]
    assert play["vars"]["kube_node_own_kernel"] is True
    kept = play["vars"]["_kube_node_sysctl"]
    assert kept["net.ipv4.ip_forward"] == kept["net.bridge.bridge-nf-call-iptables"] == 1
    assert kept["vm.overcommit_memory"] == 1


def test_no_package_is_fetched_by_the_machine_itself() -> None:
    there = set(image.packages(trial.profile()).split(","))
    made = sites.rendered(SiteFile(Path("/nowhere/site.yml"), trial.site(), trial.profile()))
    kinds = ("base", "chrony", "ceph_common", "ceph_mon", "ceph_mgr", "ceph_osd", "ceph_mds", "ceph_client")
    wanted = {p for kind in kinds for p in trial.profile().packages[kind]}
    assert wanted <= set(made.hosts["vm1"]["base_packages"]) <= there


def test_the_machine_needs_no_kvm_and_its_disks_have_serial_numbers(tmp_path: Path) -> None:
    words = " ".join(machine.command(tmp_path, tmp_path))
    assert "-accel tcg" in words
    assert f"-m {machine.MEMORY_MIB} " in words
    assert [d for d in machine.DISKS if f"serial={d}" in words] == list(machine.DISKS)


def test_an_answer_of_the_boot_before_is_none(tmp_path: Path, monkeypatch) -> None:
    says = iter(["old", "old", "new"])

    class Proc:
        def run(self, argv, **_):
            return CompletedCommand(tuple(argv), 0, next(says) + "\n")

    monkeypatch.setattr(machine.time, "sleep", lambda _: None)
    assert machine.reached(Proc(), tmp_path, tmp_path, "old") == "new"

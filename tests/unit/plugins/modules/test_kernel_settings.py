"""avadm_kernel_modules, avadm_swap_off, and what avadm_sysctl does with a setting that the kernel refuses."""

import os
from pathlib import Path

import avadm_kernel_modules as kmod
import avadm_swap_off as swap
import avadm_sysctl as sysctl
import pytest

from tests.unit.fakes.running import module, stub


@pytest.fixture
def root(tmp_path):
    (tmp_path / "sys/module/loaded").mkdir(parents=True)
    builtin = tmp_path / "lib/modules" / os.uname()[2] / "modules.builtin"
    builtin.parent.mkdir(parents=True)
    builtin.write_text("kernel/net/bridge/br-netfilter.ko\n")
    return str(tmp_path)


def test_a_module_that_is_loaded_or_built_in_is_left_alone(root):
    assert kmod.load(pytest.fail, ["loaded", "br_netfilter"], root=root) == ([], {})


def test_a_module_is_loaded_and_one_that_is_not_there_is_reported(root):
    def run(argv):
        return (1, "", "FATAL: Module bad not found") if argv == ["modprobe", "bad"] else (0, "", "")

    assert kmod.load(run, ["good", "bad"], root=root) == (["good"], {"bad": "FATAL: Module bad not found"})
    assert kmod.load(pytest.fail, ["good"], True, root) == (["good"], {})


def test_swap_space_is_a_comment_in_fstab_and_nothing_else_is():
    root, other = b"UUID=1 / ext4 defaults 0 1", b"# Gr\xf6\xdfe\x85 \xc3\xa4"
    swaps = [b"UUID=2 none swap sw 0 0", b"/swapfile\tnone\tswap\tsw 0 0"]
    after, gone = swap.without(b"\n".join([b"# swap was here", other, root, *swaps, b""]))
    assert gone == swaps
    assert [line for line in after.split(b"\n") if not line.startswith(b"#")] == [root, b""]
    assert other in after.split(b"\n")
    assert swap.without(after) == (after, [])


def test_a_table_that_is_not_utf_8_and_swap_units_of_systemd(tmp_path):
    (tmp_path / "fstab").write_bytes(b"UUID=2 none swap sw,x=\xf6 0 0\n")
    env = stub(tmp_path / "bin/systemctl", "echo dev-sda2.swap generated\necho old.swap masked")
    fstab = str(tmp_path / "fstab")
    report, reply = module("avadm_swap_off", env, fstab=fstab, _ansible_check_mode=True)
    assert not report.get("failed"), reply
    assert (report["commented"], report["masked"]) == (
        ["UUID=2 none swap sw,x=\ufffd 0 0"],
        ["dev-sda2.swap"],
    )


@pytest.mark.parametrize("state", ["masked", "disabled", "static"])
def test_a_swap_unit_that_cannot_be_masked_is_disabled_or_reported(state):
    reports = []

    def run(argv):
        reports.append(argv[1])
        return int(argv[1] == "mask" and state != "masked"), f"x.swap {state}\n", "file exists"

    assert (swap.mask(run, ["x.swap"]) is not None) is (state == "static")
    assert ("disable" in reports) is (state != "masked")
    reports.clear()
    assert swap.mask(run, []) is None
    assert reports == []


@pytest.mark.parametrize("own", [True, False])
def test_a_setting_that_the_kernel_does_not_have_is_an_error_where_the_kernel_is_the_nodes(tmp_path, own):
    """br_netfilter was loaded by no one, and the setting that comes with it was passed over in silence."""
    values = {"net.bridge.no-such-setting": 1}
    given = {"path": str(tmp_path / "s.conf"), "values": values, "own_kernel": own}
    given |= {"_ansible_remote_tmp": str(tmp_path), "_ansible_tmpdir": str(tmp_path)}
    report, reply = module("avadm_sysctl", **given)
    assert bool(report.get("failed")) is own, reply
    assert report["refused"] == {"net.bridge.no-such-setting": "not in this kernel"}
    assert (tmp_path / "s.conf").exists(), "set at the next boot, if it can be"
    if own:
        assert "net.bridge.no-such-setting: not in this kernel" in report["msg"]


@pytest.mark.skipif(
    not os.access("/proc/sys/kernel/threads-max", os.W_OK), reason="settings are read-only here"
)
@pytest.mark.parametrize("own", [True, False])
def test_a_dry_run_tells_no_change_where_a_foreign_kernel_kept_its_value(tmp_path, own):
    values = {"kernel.threads-max": int(Path("/proc/sys/kernel/threads-max").read_text()) + 1}
    (tmp_path / "s.conf").write_text(sysctl.text(values))
    given = {
        "path": str(tmp_path / "s.conf"),
        "values": values,
        "own_kernel": own,
        "_ansible_check_mode": True,
    }
    report, reply = module("avadm_sysctl", **given, _ansible_tmpdir=str(tmp_path))
    assert report["changed"] is own, reply

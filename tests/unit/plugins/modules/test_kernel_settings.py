"""avadm_kernel_modules, avadm_swap_off, and what avadm_sysctl does with a setting that the kernel refuses."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGINS = Path(__file__).parents[4] / "plugins"


def load(name):
    spec = importlib.util.spec_from_file_location(name, PLUGINS / f"modules/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


kmod, swap = load("avadm_kernel_modules"), load("avadm_swap_off")


@pytest.fixture
def root(tmp_path):
    (tmp_path / "sys/module/loaded").mkdir(parents=True)
    builtin = tmp_path / "lib/modules" / os.uname()[2] / "modules.builtin"
    builtin.parent.mkdir(parents=True)
    builtin.write_text("kernel/net/bridge/br-netfilter.ko\n")
    return str(tmp_path)


def test_a_module_that_is_loaded_or_built_in_is_left_alone(root):
    assert kmod.load(pytest.fail, ["loaded", "br_netfilter"], root=root) == ([], {})


def test_a_module_is_loaded_and_one_that_is_not_there_is_told(root):
    def run(argv):
        return (1, "", "FATAL: Module bad not found") if argv == ["modprobe", "bad"] else (0, "", "")

    assert kmod.load(run, ["good", "bad"], root=root) == (["good"], {"bad": "FATAL: Module bad not found"})
    assert kmod.load(pytest.fail, ["good"], True, root) == (["good"], {})


def test_swap_space_is_a_comment_in_fstab_and_nothing_else_is():
    text = "# swap was here\nUUID=1 / ext4 defaults 0 1\nUUID=2 none swap sw 0 0\n/swapfile\tnone\tswap\tsw 0 0\n"
    after, gone = swap.without(text)
    assert gone == ["UUID=2 none swap sw 0 0", "/swapfile\tnone\tswap\tsw 0 0"]
    assert [line for line in after.splitlines() if not line.startswith("#")] == ["UUID=1 / ext4 defaults 0 1"]
    assert swap.without(after) == (after, [])


@pytest.mark.parametrize(("own", "rc"), [(True, 1), (False, 0)])
def test_a_setting_that_the_kernel_does_not_have_is_an_error_where_the_kernel_is_the_nodes(tmp_path, own, rc):
    """br_netfilter was loaded by nobody, and the setting that comes with it was passed over in silence."""
    values = {"net.bridge.no-such-setting": 1}
    given = {"path": str(tmp_path / "s.conf"), "values": values, "own_kernel": own}
    given |= {"_ansible_remote_tmp": str(tmp_path), "_ansible_tmpdir": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, PLUGINS / "modules/avadm_sysctl.py"],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": given}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == rc, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["refused"] == {"net.bridge.no-such-setting": "not in this kernel"}
    assert (tmp_path / "s.conf").exists(), "set at the next boot, if it can be"
    if own:
        assert "net.bridge.no-such-setting: not in this kernel" in told["msg"]

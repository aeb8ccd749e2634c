"""Ansible's modules have avadm_node by a link in module_utils; Ansible and mitogen send what they need of it."""

import re
from pathlib import Path

import pytest
from ansible_mitogen.module_finder import scan

from avadm.remote.call import FOLDER, modules

ROOT = Path(__file__).parents[3]
UTILS = ROOT / "plugins/module_utils"
PREFIX = "ansible.module_utils."
USERS = [
    path
    for path in sorted((ROOT / "plugins").glob("mod*/avadm_*.py"))
    if "module_utils.avadm_node" in path.read_text()
]


def test_the_link_leads_to_the_package():
    assert (UTILS / "avadm_node").resolve() == FOLDER
    assert {p.name for p in USERS} >= {"avadm_disk.py", "avadm_ceph_osd.py", "avadm_kube_node.py"}


@pytest.mark.parametrize("path", USERS, ids=lambda p: p.stem)
def test_mitogen_sends_all_that_is_imported(path):
    """It follows no relative import: what the parts of avadm_node import is named by the module as well."""
    sent = {name for name, _, _ in scan(path.stem, str(path), [str(UTILS)])}
    ours = {name.removeprefix(PREFIX) for name in sent if name.startswith(PREFIX + "avadm_node")}
    assert ours >= {"avadm_node"}
    wanted = {need for name in ours for need in modules(name)}
    assert wanted - ours == set()


def test_what_modules_use_lies_in_folders_that_import_no_other():
    """The engine counts a folder as a whole when it judges whether a phase's code has changed."""
    used = {
        name
        for path in USERS
        for name in re.findall(r"module_utils\.avadm_node\.probes\.(\w+)", path.read_text())
    }
    assert used == {"disks", "kube", "mounts"}
    for folder in used:
        for path in (FOLDER / "probes" / folder).glob("*.py"):
            found = {
                name.split(".")[2]
                for name in modules(f"avadm_node.probes.{folder}.{path.stem}")
                if name.count(".") > 1
            }
            assert found == {folder}, path

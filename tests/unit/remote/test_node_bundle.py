"""What avadm_node imports: the standard library, itself by relative names alone, and libraries of ceph's and S3's packages."""

import ast
import sys

import pytest

from avadm.node_bundle import FOLDER, modules

FILES = sorted(FOLDER.rglob("*.py"))
# Of packages that are there where these are imported, and names that only Python 2.7 has.
OTHERS = {"rados", "cephfs", "boto3", "botocore", "urllib2", "httplib", "imp"}


def absolute(path):
    """Yield what a file imports by whole names, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(FOLDER)))
def test_it_needs_nothing_that_is_not_on_a_node(path):
    named = {name.split(".")[0] for name in absolute(path)}
    assert named - sys.stdlib_module_names - OTHERS == set()


def test_what_functions_import_is_among_the_modules_of_a_program():
    found = modules("avadm_node.agents.volumes.provisioner")
    parts = ("folders", "images", "map", "local", "format", "fit", "common")
    assert set(found) >= {
        "avadm_node.kubeapi",
        "avadm_node.probes.disks.blank",
        *(f"avadm_node.agents.volumes.{p}" for p in parts),
    }


def test_what_a_module_imports_by_name_comes_along():
    beside = {p.stem for p in (FOLDER / "probes/health").glob("*.py")} - {"__init__"}
    assert set(modules("avadm_node.probes.health.parts")) >= {f"avadm_node.probes.health.{n}" for n in beside}
    assert "avadm_node.probes.health.gpu" not in modules("avadm_node.probes.health.signals")

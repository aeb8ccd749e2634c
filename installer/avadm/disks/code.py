"""The code that judges disks, as text for a node's Python: the very files that the Ansible modules use."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from avadm import paths

if TYPE_CHECKING:
    from avadm.site.model import Node, Site

# In the order in which they import one another.
MODULES = (
    "avadm_content",
    "avadm_machine",
    "avadm_devices",
    "avadm_disks",
    "avadm_osd",
    "avadm_disk_report",
    "avadm_zap",
)

# Python 2.7 and 3. Ansible need not be on the node: its package is only the name under which the files import.
_LOADER = """
import json, sys, types
def load(sources):
    for name in ("ansible", "ansible.module_utils"):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = []
    package = sys.modules["ansible"].module_utils = sys.modules["ansible.module_utils"]
    for name, text in sources:
        name = str(name)
        module = types.ModuleType("ansible.module_utils." + name)
        exec(compile(text.encode("utf-8"), name, "exec", 0, True), module.__dict__)
        sys.modules[module.__name__] = module
        setattr(package, name, module)
"""


def proof(site: Site, node: Node) -> dict[str, object] | None:
    """Return what checks/probe.py needs to have a node's approved devices judged; None where there are none."""
    if not node.devices:
        return None
    return {"loader": _LOADER, "sources": sources(), **approvals(site, node)}


def approvals(site: Site, node: Node) -> dict[str, object]:
    """Return the approvals of a node, and what else the role ceph_osd is given for judging them."""
    names = {"by_id", "serial", "wwn"}
    variables = {**site.extra_vars, **node.vars}
    return {
        "devices": [d.model_dump(include=names, exclude_none=True) for d in node.devices],
        "min_bytes": variables.get("ceph_osd_min_bytes"),
    }


def sources() -> list[list[str]]:
    """Return [name, text] of each file."""
    folder = paths.home() / "plugins" / "module_utils"
    return [[name, (folder / f"{name}.py").read_text(encoding="utf-8")] for name in MODULES]


def script(call: str, parameters: object) -> str:
    """Return a Python program that loads the files and prints, as JSON, what a function of one of them returns.

    Args:
        call: ``MODULE.FUNCTION``, which takes a mapping.
        parameters: that mapping, JSON-ready.
    """
    # A literal of JSON inside a literal of Python: json.dumps twice gives one that 2.7 and 3 both read.
    texts, given = (json.dumps(json.dumps(data)) for data in (sources(), parameters))
    module, _, function = call.partition(".")
    return (
        f"{_LOADER}\nload(json.loads({texts}))\n"
        f"from ansible.module_utils import {module}\n"
        f"sys.stdout.write(json.dumps({module}.{function}(json.loads({given}))) + '\\n')\n"
    )

"""Our Ansible modules' shared code as text for a node's Python, so that a verb and a role do the same thing."""

from __future__ import annotations

import json
from collections.abc import Sequence

from avadm import paths

# Python 2.7 and 3. Ansible need not be on the node: its package is only the name under which the files import.
LOADER = """
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


def sources(modules: Sequence[str]) -> list[list[str]]:
    """Return [name, text] of files of plugins/module_utils; they are named in the order in which they import one another."""
    folder = paths.home() / "plugins" / "module_utils"
    return [[name, (folder / f"{name}.py").read_text(encoding="utf-8")] for name in modules]


def script(modules: Sequence[str], call: str, parameters: object) -> str:
    """Return a Python program that loads files and prints, as JSON, what a function of one of them returns.

    Args:
        modules: the files, see sources().
        call: ``MODULE.FUNCTION``, which takes a mapping.
        parameters: that mapping, JSON-ready.
    """
    # A literal of JSON inside a literal of Python: json.dumps twice gives one that 2.7 and 3 both read.
    texts, given = (json.dumps(json.dumps(data)) for data in (sources(modules), parameters))
    module, _, function = call.partition(".")
    return (
        f"{LOADER}\nload(json.loads({texts}))\n"
        f"from ansible.module_utils import {module}\n"
        f"sys.stdout.write(json.dumps({module}.{function}(json.loads({given}))) + '\\n')\n"
    )

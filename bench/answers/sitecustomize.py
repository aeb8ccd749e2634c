"""Read by the python of hollow nodes: Ansible's modules arrive and start, and are answered once they know their arguments.

What the controller does stays real: connection, templates, which module with which arguments, the transfer of its source and of
what it imports. ``answers`` has the results that modules would have returned.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

_build = builtins.__build_class__
_at_work: list[str] = []


def _answered(basic: Any) -> None:
    """Have each module end with its answer when it has read its arguments."""
    if getattr(basic.AnsibleModule, "hollow", False):
        return
    start = basic.AnsibleModule.__init__

    def init(self: Any, *args: Any, **options: Any) -> None:
        from answers import answer

        start(self, *args, **options)
        self.exit_json(**answer(_at_work[-1], self.params))

    basic.AnsibleModule.__init__ = init
    basic.AnsibleModule.hollow = True


def _build_class(func: Callable[[], Any], name: str, *bases: Any, **options: Any) -> Any:
    made = _build(func, name, *bases, **options)
    if name == "NewStyleRunner":  # of mitogen, which arrives from the controller
        run = made._run

        def hollow(self: Any) -> Any:
            from ansible.module_utils import basic

            _answered(basic)
            _at_work[:] = [self.py_module_name.rpartition(".")[2]]
            return run(self)

        made._run = hollow
    return made


builtins.__build_class__ = _build_class

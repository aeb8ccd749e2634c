"""What components' own folders beside this file have for the doctor's snapshots.

A folder's ``snapshots.py`` has ``HEALTHY`` (duty to the parts that its nodes report on a healthy site) and ``CASES``.
"""

from importlib import import_module
from pathlib import Path

_MODULES = [
    import_module(f"tests.unit.components.{path.parent.name}.snapshots")
    for path in sorted(Path(__file__).parent.glob("*/snapshots.py"))
]
HEALTHY = {duty: parts for module in _MODULES for duty, parts in module.HEALTHY.items()}
CASES = tuple(case for module in _MODULES for case in module.CASES)

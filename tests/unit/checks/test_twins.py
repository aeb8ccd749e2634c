"""A probe and the check that judges it share a name."""

from importlib import import_module
from pathlib import Path

from avadm.checks.preflight import CHECKS

ROOT = Path(__file__).parents[3]
PROBES = ROOT / "avadm_node/probes"
SHARED = {"__init__", "facts", "kubectl", "parts", "services", "signals", "system"}


def test_each_probe_of_preflight_is_judged_by_the_check_of_its_name():
    probes = {p.stem for p in (PROBES / "preflight").glob("*.py")} - SHARED
    judges = {Path(c.judge.__code__.co_filename).stem for c in CHECKS}
    assert probes <= judges


def test_each_probe_of_health_is_named_as_the_component_whose_questions_it_answers():
    folders = [p.parent.name for p in (ROOT / "installer/avadm/components").glob("*/component.py")]
    components = {name: import_module(f"avadm.components.{name}.component").COMPONENT for name in folders}
    asked = {name: {q.name for q in c.questions} for name, c in components.items() if c.questions}
    for component, names in asked.items():
        module = import_module(f"avadm_node.probes.health.{component}")
        assert [q for q in names if not hasattr(module, q)] == []
    assert {p.stem for p in (PROBES / "health").glob("*.py")} - SHARED == set(asked)

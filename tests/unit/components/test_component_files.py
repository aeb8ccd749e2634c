"""What a component's descriptor names exists: its playbook with those roles, their options, packages in a profile."""

from pathlib import Path

import pytest
import yaml

from avadm.components.catalog import COMPONENTS
from avadm.site import profile

HOME = Path(__file__).parents[3]
ROLES = sorted({role for component in COMPONENTS for role in component.phase.roles})
OF_A_SITE = {"calico", "gpu_exporter", "kube_apiserver"}
"""Roles that install artifacts; only a site's own profile names packages for them."""


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda c: c.name)
def test_a_phase_has_a_playbook_with_its_roles(component) -> None:
    phase = component.phase
    path = HOME / phase.playbook
    assert path.is_file(), f"write {phase.playbook}, or correct it in the Phase of {phase.name}"
    used = {role["role"] for play in yaml.safe_load(path.read_text()) for role in play.get("roles", [])}
    assert used <= set(phase.roles), f"add to Phase.roles of {phase.name}: {used - set(phase.roles)}"


@pytest.mark.parametrize("role", ROLES)
def test_a_role_declares_its_options(role: str) -> None:
    path = HOME / "roles" / role / "meta/argument_specs.yml"
    assert path.is_file(), f"write roles/{role}/meta/argument_specs.yml"


def test_a_role_with_packages_is_in_a_profile() -> None:
    wanted = {
        role
        for component in COMPONENTS
        for packages in component.packages.values()
        for role in (*packages.base, *packages.late)
    }
    named = {role for name in profile.names() for role in profile.load(name).packages}
    missing = sorted(wanted - named - OF_A_SITE)
    assert not missing, f"add to `packages` of installer/avadm/site/profiles/_common.yml: {missing}"

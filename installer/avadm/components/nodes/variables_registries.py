"""Image registries that others run: whom nodes trust, and as whom they pull."""

from __future__ import annotations

from collections.abc import Mapping

from avadm.catalogue import finding
from avadm.errors import AvadmError
from avadm.inventory.model import RenderContext, Variables
from avadm.site.model import Site


def render(given: RenderContext, out: Variables) -> None:
    """Write the variables of the role docker; nothing where the site has no masters."""
    site = given.site
    if not site.with_role("master"):
        return
    named = site.components.kubernetes.registries
    out.all |= {
        "docker_foreign_authorities": {r.name: r.ca for r in named if r.ca},
        "docker_registry_logins": {
            r.name: {"user": r.user, "password": f"{{{{ {r.password} }}}}"} for r in named if r.user
        },
    }


def require(site: Site, held: Mapping[str, str]) -> None:
    """Raise AvadmError where the vault does not hold the password of a registry's user."""
    found = [
        finding(
            "registry-password-missing",
            where=f"components.kubernetes.registries.{i}.password",
            found=f"no {r.password}",
            wanted=f"a variable {r.password} in the vault",
            user=r.user,
            name=r.name,
        )
        for i, r in enumerate(site.components.kubernetes.registries)
        if r.user and site.with_role("master") and not held.get(r.password)
    ]
    if found:
        raise AvadmError(found)

"""Variables of the roles of Kubernetes' nodes."""

from __future__ import annotations

from avadm.site.model import Site
from avadm.site.profile import Profile
from avadm.site.render import Vars


def render(site: Site, profile: Profile, out: Vars) -> None:
    """Write the variables of the role docker; nothing where the site has no masters."""
    if not site.with_role("master"):
        return
    out.all |= {
        "docker_packages": profile.packages.get("docker", []),
        "docker_storage_driver": profile.features.get("docker_storage_driver", "overlay2"),
    }

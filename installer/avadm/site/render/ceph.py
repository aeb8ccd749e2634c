"""Variables of the ceph roles."""

from __future__ import annotations

from avadm.site.model import Site
from avadm.site.profile import Profile
from avadm.site.render import Vars


def render(site: Site, profile: Profile, out: Vars) -> None:
    """Write the variables of the ceph roles."""

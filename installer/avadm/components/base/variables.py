"""Variables of the connection and of the roles base and chrony, for all nodes and for each."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from avadm.components.catalog import COMPONENTS, duties
from avadm.inventory.model import RenderContext, Variables
from avadm.site import openpgp
from avadm.site.model import Node, Site
from avadm.site.profile import Profile, plain

if TYPE_CHECKING:
    from avadm.site.load import SiteFile


HELD_BACK, PINNED = -1, 990
"""apt's priorities: never installed, not even as a dependency; and preferred to every release's own."""


def _packages(site: Site, node: Node, profile: Profile, *, late: bool) -> list[str]:
    own = duties(site, node)
    roles = {
        role
        for component in COMPONENTS
        for duty, packages in component.packages.items()
        if duty in own
        for role in (packages.late if late else packages.base)
    }
    return sorted({p for role in roles for p in profile.packages.get(role, [])})


def late_packages(site: Site, node: Node, profile: Profile) -> list[str]:
    """Return the packages of a node that their own roles install, sorted."""
    return _packages(site, node, profile, late=True)


def packages(site: Site, node: Node, profile: Profile) -> list[str]:
    """Return the packages of a node that one transaction of the base phase installs, sorted."""
    return _packages(site, node, profile, late=False)


def _sources(site: Site, node: Node, profile: Profile) -> dict[str, Any]:
    """Return the variables of the profile's own sources from which a node has packages; the rest of them is held back."""
    own = {*packages(site, node, profile), *late_packages(site, node, profile)}
    used = [s for s in profile.sources.values() if s.line or s.codename]
    used = [s for s in used if set(s.offered) & set(plain(own))]
    if not used:
        return {}
    pins = [(f"release n={s.codename}", "*", HELD_BACK) for s in used if s.codename]
    pins += [
        (f"version {version}", name, PINNED)
        for s in used
        if s.codename
        for name, version in s.versions.items()
    ]
    return {
        # A site with sources of its own has this one among them.
        "base_apt_more_sources": (
            sorted({s.line for s in used if s.line}) if not site.packages.sources else []
        ),
        # Two sources may be of one release. Sorted: components come to a profile in any order, and end in the same files.
        "base_apt_pins": [
            {"package": name, "pin": pin, "priority": rank}
            for name, pin, rank in sorted({(name, pin, rank) for pin, name, rank in pins})
        ],
    }


def keyring(text: str) -> str:
    """Return a key of a package source as apt reads it in every release, in base64."""
    return base64.b64encode(openpgp.binary(text)).decode()


def render(given: RenderContext, out: Variables) -> None:
    """Write the variables of base and chrony, and what the connection needs."""
    site, profile = given.site, given.profile
    # Without time servers the mon nodes agree among themselves and serve the rest; where there is no ceph, the masters.
    keepers = site.with_role("mon") or site.with_role("master")
    own_time = not site.time.servers
    out.all |= {
        "ansible_user": site.ssh.user,
        "ansible_port": site.ssh.port,
        "ansible_python_interpreter": profile.python,
        "ansible_become": site.ssh.user != "root",
        "site_name": site.name,
        "site_domain": site.network.domain,
        # /etc/hosts is equal everywhere: its text is made once, so that no host's task goes through all nodes.
        "base_hosts": "\n".join(f"{n.address} {n.name}.{site.network.domain} {n.name}" for n in site.nodes),
        "base_apt_proxy": site.packages.proxy or "",
        "base_apt_sources": site.packages.sources or [],
        "base_apt_keys": {name: keyring(text) for name, text in sorted(site.packages.keys.items())},
        "chrony_servers": [str(n.address) for n in keepers] if own_time else list(site.time.servers),
        "chrony_serve": False,
        "chrony_allow": str(site.network.management),
        "chrony_packages": profile.packages.get("chrony", []),
        "chrony_local": profile.features.get("chrony_local", "stratum 10 orphan"),
        "chrony_options": profile.features.get("chrony_options", "-F 1"),
    }
    for node in site.nodes:
        own = out.host(node.name)
        own |= {"ansible_host": str(node.address), "base_packages": packages(site, node, profile)}
        own |= _sources(site, node, profile)
        if own_time and node in keepers:
            own["chrony_serve"] = True
    out.all |= connection(given.file)


def connection(site_file: SiteFile) -> dict[str, Any]:
    """Return the connection's variables that name files: they depend on where the site file lies."""
    # Imported here: rendering a site without a jump host needs no ssh.
    from avadm.remote.jump import JumpHost

    jump = JumpHost.of(site_file)
    way = f" -o {jump.ssh_option(site_file.known_hosts)}" if jump else ""
    return {
        "ansible_ssh_private_key_file": str(site_file.ssh_key),
        "ansible_ssh_common_args": (
            # Nothing of the operator's own configuration: it may forward an agent, or name other keys and ways.
            f"-F /dev/null -o ForwardAgent=no -o UserKnownHostsFile={site_file.known_hosts} -o GlobalKnownHostsFile=/dev/null"
            f" -o StrictHostKeyChecking=yes{way}"
        ),
    }

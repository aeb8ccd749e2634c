"""Sites in a few words: a node is one call, and what every site must have besides is there."""

from pathlib import Path

from avadm.components import certificates
from avadm.inventory.model import RenderContext, Variables
from avadm.inventory.variables import variables
from avadm.pki import store as pki
from avadm.site import profile as profiles
from avadm.site.load import SiteFile
from avadm.site.model import Site

NETWORK = {"management": "10.0.0.0/24", "domain": "demo.test"}


def node(name, last, *roles, **more):
    """Return a node at 10.0.0.LAST."""
    return {"name": name, "address": f"10.0.0.{last}", "roles": list(roles), **more}


def data(*nodes, network=None, **more):
    """Return what stands in a site file with these nodes; where there are masters they have their address."""
    masters = any("master" in n["roles"] for n in nodes)
    network = {**NETWORK, **({"api_vip": "10.0.0.250"} if masters else {}), **(network or {})}
    return {"name": "demo", "network": network, "nodes": list(nodes), **more}


def site(*nodes, **more):
    return Site.model_validate(data(*nodes, **more))


def keys(one):
    """Return new private keys for all certificates of a site, as its vault would hold them."""
    return {name: make() for name, make in certificates.makers(one).items()}


def issued(one, folder, held=None):
    """Return the store of a site's certificates, which are made in a folder."""
    store = pki.KeyStore.open(folder / "demo.yml")
    made = certificates.issue(store, one, keys(one) if held is None else held)
    if made is not store:
        made.save()
    return made


def rendered(site_file):
    """Return all variables of a site file with the certificates beside it."""
    return variables(site_file, pki.KeyStore.open(site_file.path))


def render(one, *modules, profile="lab-bookworm", store=None, out=None):
    """Return the variables that the `variables` modules of components make of a site."""
    out = out or Variables()
    given = RenderContext(SiteFile(Path("/nowhere/site.yml"), one, profiles.load(profile)), store)
    for module in modules:
        module.render(given, out)
    return out

"""Site files of the lab: with every part they are a site on which each component has something to do."""

import base64

from avadm.inventory.desired import Desired, Keyring
from avadm.site.load import load
from avadm_lab.layout import PARTS, Config, nodes
from avadm_lab.sitefile import text

KEY = base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + bytes(range(32))).decode()


def site_file(folder, parts=PARTS):
    """Write the site file of a lab with these parts into a folder, and load it."""
    config = Config(parts=parts)
    keys = {n.name: f"ssh-ed25519 {KEY}" for n in nodes(config)}
    path = folder / "site.yml"
    path.write_text(text(config, nodes(config), keys, "http://10.77.0.1:3142"))
    return load(path)


def variables(folder, parts=PARTS):
    """Return all variables of such a lab; its secrets and certificates are made in the folder."""
    loaded = site_file(folder, parts)
    return Desired.make(loaded, Keyring.open(loaded.path)).variables

"""The platform's administrator, made or let in in one of the API's pods; secrets go by standard input all the way."""

from __future__ import annotations

from avadm.components.ava.component import NAMESPACE
from avadm.kube.pods import Pods
from avadm.remote.fleet import Fleet, Result
from avadm.site.model import Site

CONFIG = "/etc/ava/config/api.yml"
DONE = frozenset({"made", "changed", "unchanged"})
"""What it says where it was done."""


def make_admin(fleet: Fleet, site: Site, name: str, password: str, email: str | None = None) -> Result:
    """Make a user an administrator with this password; return what came of it (``DONE`` with exit status 0).

    Raises:
        AvadmError: no master could be asked, or no pod of the API is ready.
    """
    argv = ["create-admin", "--config", CONFIG, "--name", name, *(["--email", email] if email else [])]
    return _run(fleet, site, argv, password)


def lend(fleet: Fleet, site: Site, secret: str, name: str | None = None) -> Result:
    """Make a token of an administrator that ends within the hour; standard output has the name and the token's id.

    Args:
        fleet: ssh to the nodes.
        site: the site.
        secret: the token's, 43 characters.
        name: whose it is; None: the only administrator there is.

    Raises:
        AvadmError: no master could be asked, or no pod of the API is ready.
    """
    return _run(fleet, site, ["lend", "--config", CONFIG, *(["--name", name] if name else [])], secret)


def _run(fleet: Fleet, site: Site, argv: list[str], secret: str) -> Result:
    pods = Pods(fleet, [n.name for n in site.with_role("master")], NAMESPACE, "app=ava,part=api")
    return pods.run(["python3", "-m", "ava.api.admin", *argv], f"{secret}\n".encode())

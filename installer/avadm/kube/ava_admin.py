"""The platform's administrator, made in one of the API's pods; the password goes by standard input all the way."""

from __future__ import annotations

from avadm.components.ava import NAMESPACE
from avadm.kube.pods import Pods
from avadm.runner.fleet import Fleet, Result
from avadm.site.model import Site

CONFIG = "/etc/ava/config/api.yml"
DONE = frozenset({"made", "changed", "unchanged"})
"""What it says where it was done."""


def make_admin(fleet: Fleet, site: Site, name: str, password: str, email: str | None = None) -> Result:
    """Make a user an administrator with this password; return what came of it (``DONE`` with exit status 0).

    Raises:
        AvadmError: no master could be asked, or no pod of the API is ready.
    """
    argv = ["python3", "-m", "ava.api.admin", "create-admin", "--config", CONFIG, "--name", name]
    pods = Pods(fleet, [n.name for n in site.with_role("master")], NAMESPACE, "app=ava,part=api")
    return pods.run([*argv, *(["--email", email] if email else [])], f"{password}\n".encode())

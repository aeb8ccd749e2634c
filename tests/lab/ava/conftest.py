"""The lab's platform: its host, the way to it, and its administrator."""

import json
import secrets
import socket
import subprocess
import sys
from dataclasses import dataclass, field

import pytest

from ava.client import ApiError, Client
from avadm.components.ava import component as ava
from avadm.site.load import load
from tests.lab.ava.bench_people import bench, gateway, people  # noqa: F401 - fixtures
from tests.lab.ava.raw_door import eve  # noqa: F401 - a fixture
from tests.lab.ava.user_journey import CARDS, ENDED, UserJourney

PASSWORD_FILE = "/root/.avadm-lab-test"


@dataclass
class Platform:
    """The platform as users and the administrator reach it.

    Attributes:
        lab: the lab.
        site: path of the site file.
        host: the name under which it is reached.
        address: the ingress' address.
        master: a master's name.
    """

    lab: object
    site: object
    host: str
    address: str
    master: str
    admin: str = field(default_factory=lambda: f"t{secrets.token_hex(4)}")
    password: str = field(default_factory=lambda: secrets.token_urlsafe(18))

    def ask(self, path, *options, scheme="https"):
        """Return status and text of what a user is answered who trusts the site's authority alone."""
        port = 443 if scheme == "https" else 80
        line = ["curl", "-s", "-m", "20", "--noproxy", "*", "--cacert", "/etc/kubernetes/pki/ca.crt"]
        line += ["--resolve", f"{self.host}:{port}:{self.address}", "-w", "'\\n%{http_code} %{redirect_url}'"]
        reply = self.lab.sh(self.master, " ".join([*line, *options, f"{scheme}://{self.host}{path}"]))
        text, _, status = reply.rpartition("\n")
        return status.strip(), text

    def make_admin(self, password=None, name=None):
        """Run the verb; return what came of it."""
        argv = [
            sys.executable,
            "-m",
            "avadm",
            "--site",
            str(self.site),
            "ava",
            "create-admin",
            name or self.admin,
        ]
        return subprocess.run(
            argv,
            input=f"{password or self.password}\n",
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def ctl(self, *words):
        """Return what the API says as JSON."""
        return json.loads(self.lab.sh(self.master, f"kubectl {' '.join(words)} -o json"))


@pytest.fixture(scope="session")
def platform(lab):
    site_file = load(lab.site_path)
    site = site_file.site
    if site.components.ava is None:
        pytest.skip("this lab has no platform")
    master = site.with_role("master")[0].name
    return Platform(lab, lab.site_path, ava.host(site), str(site.network.ingress_vip), master)


@pytest.fixture(scope="session")
def authority(platform, lab, tmp_path_factory):
    """The file with the site's authority; this machine's resolver, which does not know the platform's name, gets it."""
    path = tmp_path_factory.mktemp("authority") / "ca.crt"
    path.write_text(lab.sh(platform.master, "cat /etc/kubernetes/pki/ca.crt"))
    known = socket.getaddrinfo

    def resolve(host, *rest, **more):
        return known(platform.address if host == platform.host else host, *rest, **more)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(socket, "getaddrinfo", resolve)
        yield path


def image_of(platform):
    """Return an image with Python that the lab's registry has: the platform's own."""
    pods = platform.ctl("get pods --namespace=ava-system --selector=app=ava")["items"]
    return pods[0]["spec"]["containers"][0]["image"]


@pytest.fixture(scope="session")
def day(platform, authority):
    """A user with a group, made by the administrator."""
    assert platform.make_admin().returncode == 0
    admin = Client(f"https://{platform.host}", ca=authority)
    admin.login(platform.admin, platform.password)
    name = f"user-{platform.admin}"
    user = Client(f"https://{platform.host}", ca=authority)
    user.register(name, f"{name}@example.org", platform.password)
    with pytest.raises(ApiError):  # not before an administrator has approved it
        user.login(name, platform.password)
    admin.approve(name)
    admin.make_group(name, {"gpu": CARDS, "cpu": 4000, "memory": 4 * 2**30})
    admin.add_member(name, name)
    user.login(name, platform.password)
    yield UserJourney(user, name, image_of(platform))
    for run in user.runs():
        if run.state not in ENDED:
            user.stop(run.id)
    admin.change_user(name, state="disabled")

"""Two people with a group of their own each, and ann's workbench: the fixtures of the tests of workbenches."""

import socket
import time
from types import SimpleNamespace

import pytest

from ava.client import Client
from tests.lab.ava.bench_ways import Browser, Ssh
from tests.lab.ava.user_journey import ENDED
from tests.lab.waiting import until

IMAGE = "ava-base"
MEMORY = 512 * 2**20
SPEC = {"kind": "workbench", "image": IMAGE, "roles": [{"each": {"cpu": 200, "memory": MEMORY}}]}


class Owner:
    """A person with a group of their own, a browser and an ssh key."""

    def __init__(self, platform, authority, folder, admin, name):
        self.site, self.name, self.password = f"https://{platform.host}", name, platform.password
        self.admin, self.authority, self.folder = admin, authority, folder
        folder.mkdir()
        self.ava = Client(self.site, ca=authority)
        admin.make_user(name, f"{name}@example.org", self.password)
        admin.make_group(name, {"gpu": 1, "cpu": 4000, "memory": 4 * 2**30})
        admin.add_member(name, name)
        self.ava.login(name, self.password)
        self.browser = Browser(authority)
        self.csrf = self.browser.login(self.site, name, self.password)

    def start(self, name="bench"):
        run = self.ava.start(name, SPEC)
        until(lambda: self.ava.run(run.id).state == "running", 120)
        return next(w for w in self.ava.workbenches() if w.run == run.id)

    def stop(self, run):
        self.ava.stop(run)
        until(lambda: self.ava.run(run).state in ENDED, 120)

    def enter(self, url):
        """Open a workbench once its Jupyter answers."""
        return until(lambda: (found := self.browser.get(url)).status_code == 200 and found, 60)


@pytest.fixture(scope="session")
def people(platform, lab, authority, tmp_path_factory):
    """An administrator's client, ann and eve; names of workbenches and of the gateway are known to this process alone."""
    folder = tmp_path_factory.mktemp("people")
    known = socket.getaddrinfo

    def resolve(host, *rest, **more):
        mine = isinstance(host, str) and host.endswith(".wb." + platform.host.partition(".")[2])
        return known(platform.address if mine else host, *rest, **more)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(socket, "getaddrinfo", resolve)
        assert platform.make_admin().returncode == 0
        admin = Client(f"https://{platform.host}", ca=authority)
        admin.login(platform.admin, platform.password)
        ann, eve = (
            Owner(platform, authority, folder / n, admin, f"{n}-{platform.admin}") for n in ("ann", "eve")
        )
        yield SimpleNamespace(ann=ann, eve=eve, admin=admin)
        for one in (ann, eve):
            for run in one.ava.runs():
                if run.state not in ENDED:
                    one.stop(run.id)
            admin.change_user(one.name, state="disabled")


@pytest.fixture(scope="session")
def gateway(platform):
    service = platform.ctl("get service --namespace=ava-system ssh")
    return service["status"]["loadBalancer"]["ingress"][0]["ip"]


@pytest.fixture(scope="session")
def bench(people, gateway):
    """Ann's workbench, running, with her key in it from its start."""
    probe = SimpleNamespace(jump_port=22)
    ssh = Ssh(people.ann.folder, probe, gateway)
    people.ann.ava.put_key("ssh", "laptop", ssh.public)
    began = time.monotonic()
    made = people.ann.start()
    took = time.monotonic() - began
    ssh.it = made.ssh
    return SimpleNamespace(it=made, ssh=ssh.write(), url=made.url, took=took)

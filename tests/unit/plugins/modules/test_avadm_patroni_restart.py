"""avadm_patroni_restart: who is restarted when, and by whose turn; Patroni's answers are made up."""

import json

import avadm_patroni_restart as module
import pytest
from avadm_patroni_restart import Cluster, RestartError

HOST = "https://10.0.0.%d:8008"


class Members:
    """A cluster of Patroni: role of each, who waits for a restart, and what was asked of whom."""

    def __init__(self, monkeypatch, waits=(), sync=True, **roles):
        self.roles = roles or {"d1": "leader", "d2": "sync_standby"}
        self.waits, self.sync, self.done, self.time = set(waits), sync, [], 0
        self.urls = {HOST % i: name for i, name in enumerate(self.roles, 1)}
        monkeypatch.setattr(module, "ask", self.ask)

    def ask(self, url, tls):
        base, _, path = url.rpartition("/")
        if path == "patroni":
            return 200, json.dumps({"pending_restart": True} if self.urls[base] in self.waits else {})
        members = [
            {"name": name, "role": role, "state": "running", "api_url": f"{url_}/patroni"}
            for url_, name in self.urls.items()
            for role in [self.roles[name]]
        ]
        return 200, json.dumps({"members": members})

    def post(self, url, path, data):
        name = self.urls[url]
        self.done.append((name, path, data))
        if path == "/restart":
            self.waits.discard(name)
        else:
            heir = data["candidate"]
            self.roles[name], self.roles[heir] = "sync_standby", "leader"
            self.waits.discard(name)

    def sleep(self, seconds):
        self.time += seconds

    def cluster(self, name):
        url = next(u for u, n in self.urls.items() if n == name)
        return Cluster(url, None, self.post, 10, self.sleep, lambda: self.time)


def test_a_standby_is_restarted_and_no_other_user(monkeypatch):
    members = Members(monkeypatch, waits=["d1", "d2"])
    cluster = members.cluster("d2")
    cluster.ensure("d2", dry=False)
    assert members.done == [("d2", "/restart", {})]
    assert cluster.actions == ["restarted d2"]


def test_the_primary_hands_over_once_and_only_to_one_that_waits_no_more(monkeypatch):
    members = Members(monkeypatch, waits=["d1", "d2"])
    members.cluster("d1").ensure("d1", dry=False)
    assert members.done == [
        ("d2", "/restart", {}),
        ("d1", "/switchover", {"leader": "d1", "candidate": "d2"}),
    ]
    assert members.waits == set()


def test_the_only_member_is_restarted(monkeypatch):
    members = Members(monkeypatch, waits=["d1"], d1="leader")
    members.cluster("d1").ensure("d1", dry=False)
    assert members.done == [("d1", "/restart", {})]


def test_a_primary_without_a_standby_that_could_take_over_is_left_alone(monkeypatch):
    members = Members(monkeypatch, waits=["d1"], d1="leader", d2="replica")
    with pytest.raises(RestartError, match="no standby could take over from d1"):
        members.cluster("d1").ensure("d1", dry=False)
    assert members.done == []


def test_a_member_that_does_not_come_back_is_reported_and_ends_it(monkeypatch):
    members = Members(monkeypatch, waits=["d1", "d2"])
    monkeypatch.setattr(members, "post", lambda url, path, data: members.done.append(path))
    with pytest.raises(RestartError, match="d2 waits for a restart, or does not run after 10 s"):
        members.cluster("d1").ensure("d1", dry=False)
    assert members.done == ["/restart"], "the primary was not touched"


def test_nothing_is_done_in_a_dry_run(monkeypatch):
    members = Members(monkeypatch, waits=["d1"])
    cluster = members.cluster("d1")
    cluster.ensure("d1", dry=True)
    assert (members.done, cluster.actions) == ([], ["would restart d1"])


@pytest.mark.parametrize(
    ("link", "waits"),
    [
        ("/usr/lib/postgresql/15/bin/postgres (deleted)", True),
        ("/usr/lib/postgresql/15/bin/postgres", False),
    ],
)
def test_a_server_whose_program_was_replaced_on_disk_waits_too(tmp_path, link, waits):
    (tmp_path / "postmaster.pid").write_text("4711\n/var/lib/postgresql/15/avadm\n")
    asked = []
    assert module.replaced(str(tmp_path), lambda path: asked.append(path) or link) is waits
    assert asked == ["/proc/4711/exe"]


@pytest.mark.parametrize("content", [None, "", "none\n"])
def test_a_server_that_does_not_run_waits_for_nothing(tmp_path, content):
    if content is not None:
        (tmp_path / "postmaster.pid").write_text(content)
    assert module.replaced(str(tmp_path), lambda path: "x (deleted)") is False


def test_a_server_that_ended_meanwhile_waits_for_nothing(tmp_path):
    (tmp_path / "postmaster.pid").write_text("4711\n")

    def gone(path):
        raise OSError(2, "No such file or directory")

    assert module.replaced(str(tmp_path), gone) is False

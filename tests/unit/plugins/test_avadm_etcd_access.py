"""avadm_etcd_access: users, roles and permissions of etcd, and what is left alone."""

import base64
import json

import pytest
from avadm_etcd_access import Access, AccessError

USERS = [{"name": "root", "prefixes": []}, {"name": "calico", "prefixes": ["/calico/"]}]


class Etcd:
    """etcdctl before a store of users, roles and permissions; it answers as etcd 3.4 does."""

    def __init__(self):
        self.users, self.roles, self.on, self.dead, self.done = {}, {}, False, False, []
        self.passwords = {}

    def __call__(self, argv, data):
        words = [w for w in argv[2:] if not w.startswith("--")]
        if self.dead:
            return 1, "", "Error: context deadline exceeded"
        if argv[2] == "--user" and argv[3] in self.users:
            known = self.passwords.get(argv[3]) == data.strip()
            message = "permission denied" if known else "authentication failed, invalid user ID or password"
            return 1, "", "Error: etcdserver: " + message
        if argv[2] == "--user":
            message = "failed, invalid user ID or password" if self.on else "is not enabled"
            return 1, "", '{"level":"warn"}\nError: etcdserver: authentication ' + message
        what, verb, *rest = words
        encoded = lambda text: base64.b64encode(text.encode()).decode()  # noqa: E731
        if verb == "list":
            return 0, json.dumps({what + "s": sorted(getattr(self, what + "s"))}), ""
        if verb == "get" and what == "user":
            return 0, json.dumps({"roles": self.users[rest[0]]}), ""
        if verb == "get":
            perms = [
                {"permType": k, "key": encoded(key), "range_end": encoded(end)}
                for k, key, end in self.roles[rest[0]]
            ]
            return 0, json.dumps({"perm": perms} if perms else {}), ""
        self.done.append(" ".join(words))
        if what == "auth":
            self.on = True
        elif verb == "add":
            assert what == "role" or len(data.strip()) == 32
            getattr(self, what + "s")[rest[0]] = []
        elif verb == "passwd":
            self.passwords[rest[0]] = data.strip()
        elif verb == "grant-role":
            self.users[rest[0]].append(rest[1])
        elif verb == "grant-permission":
            self.roles[rest[0]].append((2, rest[2], rest[2][:-1] + "0"))
        elif verb == "revoke-permission":
            self.roles[rest[0]] = [p for p in self.roles[rest[0]] if p[1] != rest[1]]
        return 0, "", ""


def test_everything_is_made_once_and_authentication_comes_last():
    etcd = Etcd()
    assert len(Access(etcd, "p").keep(USERS, dry=True)) == 8
    assert etcd.done == []
    report = Access(etcd, "p").keep(USERS)
    assert report[-2:] == ["calico may use /calico/", "authentication"]
    assert etcd.done[-1] == "auth enable"
    etcd.done.clear()
    assert Access(etcd, "p").keep(USERS) == etcd.done == []


@pytest.mark.parametrize(
    ("harm", "changes"),
    [
        (lambda e: setattr(e, "on", False), ["authentication"]),
        (
            lambda e: e.roles["calico"].append((2, "/registry/", "/registry0")),
            ["calico may no longer use /registry/"],
        ),
        (lambda e: e.roles["calico"].clear(), ["calico may use /calico/"]),
        (lambda e: e.users.pop("calico"), ["user calico", "role of user calico"]),
        (lambda e: e.users["calico"].clear(), ["role of user calico"]),
        (lambda e: e.users.update(theirs=["theirs"]), []),
    ],
)
def test_what_someone_changed_is_put_right_and_reported(harm, changes):
    etcd = Etcd()
    Access(etcd, "p").keep(USERS)
    harm(etcd)
    assert Access(etcd, "p").keep(USERS, dry=True) == changes
    assert Access(etcd, "p").keep(USERS) == changes
    assert Access(etcd, "p").keep(USERS) == []


def test_silence_is_not_taken_for_an_empty_store():
    etcd = Etcd()
    etcd.dead = True
    with pytest.raises(AccessError, match="deadline"):
        Access(etcd, "p").keep(USERS)
    with pytest.raises(AccessError, match="deadline"):
        Access(etcd, "p").enabled()


def test_a_password_is_set_where_it_is_another_one_and_is_in_no_argument():
    etcd = Etcd()
    assert Access(etcd, "p").keep(USERS, passwords={"calico": "pass"})[-1] == "password of calico"
    assert Access(etcd, "p").keep(USERS, passwords={"calico": "pass"}) == []
    assert Access(etcd, "p").keep(USERS, dry=True, passwords={"calico": "new"}) == ["password of calico"]
    assert Access(etcd, "p").keep(USERS, passwords={"calico": "new"}) == ["password of calico"]
    assert not any("pass " in text or "new" in text for text in etcd.done)

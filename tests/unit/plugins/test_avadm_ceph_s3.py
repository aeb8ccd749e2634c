"""avadm_ceph_s3: which commands make users right, and that no key is ever an argument."""

import copy
import json

import pytest
from ansible.module_utils.avadm_ceph import CephError
from avadm_ceph_s3 import Users

ACCESS, SECRET = "ACCESSACCESSACCESS00", "SecretSecretSecretSecretSecretSecretSecr"
WANTED = {"name": "ai", "access_key": ACCESS, "secret_key": SECRET, "max_bytes": 100, "max_objects": -1}
QUOTA = {"enabled": True, "check_on_raw": False, "max_size": 100, "max_size_kb": 1, "max_objects": -1}
RECORD = {
    "key": "user:ai",
    "ver": {"tag": "t", "ver": 1},
    "data": {
        "user_id": "ai",
        "display_name": "ai",
        "keys": [{"user": "ai", "access_key": ACCESS, "secret_key": SECRET}],
        "user_quota": QUOTA,
    },
}


class Gateway:
    """A radosgw-admin with a table of users."""

    def __init__(self, **records):
        self.records, self.ran, self.stdin = records, [], []
        self.rc = 0

    def run(self, argv, data=None):
        assert argv[:3] == ["timeout", "120", "radosgw-admin"]
        words = argv[3:]
        self.ran.append(" ".join(words))
        if self.rc:
            return self.rc, "", "it went wrong"
        if words[:2] == ["user", "list"]:
            return 0, json.dumps(list(self.records)), ""
        if words[:2] == ["user", "create"]:
            made = copy.deepcopy(RECORD)
            made["data"]["keys"][0].update(access_key="MADE", secret_key="made")
            made["data"]["user_quota"].update(enabled=False, max_size=-1)
            self.records["ai"] = made
        if words[:2] == ["metadata", "get"]:
            return 0, json.dumps(self.records[words[2].partition(":")[2]]), ""
        if words[:2] == ["metadata", "put"]:
            self.stdin.append(data)
            self.records[words[2].partition(":")[2]] = json.loads(data)
        return 0, "{}", ""


def known(keys=(), **quota):
    """A gateway that has the user, with other keys besides and another quota."""
    record = copy.deepcopy(RECORD)
    record["data"]["keys"] += keys
    record["data"]["user_quota"].update(quota)
    return Gateway(ai=record)


def run(gateway, check_mode=False, **wanted):
    """Return the commands that change something, and what is reported."""
    work = Users(gateway.run, check_mode)
    work.ensure([{**WANTED, **wanted}])
    return [r for r in gateway.ran if not r.startswith(("user list", "metadata get"))], work.actions


def test_a_new_user_gets_our_keys_and_its_quota_and_the_next_run_does_nothing_about_keys():
    gateway = Gateway()
    assert run(gateway)[0] == [
        "user create --uid=ai --display-name=ai",
        "metadata put user:ai",
        "quota set --quota-scope=user --uid=ai --max-size=100 --max-objects=-1",
        "quota enable --quota-scope=user --uid=ai",
    ]
    assert gateway.records["ai"]["data"]["keys"] == RECORD["data"]["keys"]
    assert run(gateway, max_bytes=-1)[1] == []


def test_no_key_is_an_argument_or_reported():
    gateway = Gateway()
    _, report = run(gateway)
    assert SECRET not in " ".join(gateway.ran + report)
    assert ACCESS not in " ".join(gateway.ran + report)
    assert SECRET in gateway.stdin[0]


SET = "quota set --quota-scope=user --uid=ai --max-size=100 --max-objects=-1"


@pytest.mark.parametrize(
    ("differs", "wanted", "commands"),
    [
        ({}, {}, []),
        ({"max_size": 50}, {}, [SET]),
        ({"max_objects": 9}, {}, [SET]),
        ({"enabled": False}, {}, ["quota enable --quota-scope=user --uid=ai"]),
        ({"max_objects": 0}, {}, []),  # some releases write 0 for no limit
        ({}, {"max_bytes": -1}, ["quota disable --quota-scope=user --uid=ai"]),
    ],
)
def test_what_differs_of_the_quota_is_set_and_nothing_else(differs, wanted, commands):
    done, report = run(known(**differs), **wanted)
    assert (done, bool(report)) == (commands, bool(commands))


def test_a_second_key_pair_is_taken_away():
    gateway = known([{"user": "ai", "access_key": "B", "secret_key": "b"}])
    run(gateway)
    assert [k["access_key"] for k in gateway.records["ai"]["data"]["keys"]] == [ACCESS]


def test_a_dry_run_changes_nothing_and_says_what_would():
    assert run(Gateway(), check_mode=True) == ([], ["make ai"])


@pytest.mark.parametrize(
    ("rc", "reason"), [(124, "placement groups"), (1, "it went wrong"), (127, "ceph-common")]
)
def test_a_failure_says_why(rc, reason):
    gateway = Gateway()
    gateway.rc = rc
    with pytest.raises(CephError, match=reason):
        run(gateway)

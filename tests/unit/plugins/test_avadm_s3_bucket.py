"""avadm_s3_bucket: which requests make buckets right."""

import json

import pytest
from ansible.module_utils.avadm_s3 import S3Error
from avadm_s3_bucket import Buckets

BUCKET = {"name": "data", "versioning": False, "policy": {}, "access_key": "A", "secret_key": "S"}
POLICY = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow"}]}


class Store:
    """A store with one owner's buckets, name to its versioning ("" for never)."""

    def __init__(self, **buckets):
        self.buckets, self.asked, self.foreign, self.down = buckets, [], set(), 0
        self.policy = self.rules = ""

    def ask(self, bucket, method, query, body):
        self.asked.append(f"{method} {''.join('?' + k for k in query)}".strip())
        if self.down:
            self.down -= 1
            raise S3Error("no server there")
        name = bucket["name"]
        if name in self.foreign:
            return 403, "<Code>AccessDenied</Code>"
        if method == "HEAD":
            return (200 if name in self.buckets else 404), ""
        if "lifecycle" in query:
            if method == "GET":
                return (200, self.rules) if self.rules else (404, "<Code>NoSuchLifecycleConfiguration</Code>")
            # As radosgw gives it back: in an order of its own, with a filter.
            self.rules = body.decode().replace("<Prefix></Prefix>", "<Filter><Prefix></Prefix></Filter>")
            return 200, ""
        if "policy" in query:
            if method == "GET":
                return (200, self.policy) if self.policy else (404, "<Code>NoSuchBucketPolicy</Code>")
            self.policy = body.decode()
            return 204, ""
        if method == "GET":
            state = self.buckets[name] and f"<Status>{self.buckets[name]}</Status>"
            return 200, f"<VersioningConfiguration>{state}</VersioningConfiguration>"
        if query:
            self.buckets[name] = "Enabled" if b"Enabled" in body else "Suspended"
        else:
            self.buckets[name] = ""
            self.body = body
        return 200, ""


def run(store, timeout=0, place="", check_mode=False, **changes):
    work = Buckets(store.ask, place, check_mode, sleep=lambda s: None, clock=iter(range(100)).__next__)
    work.ensure({**BUCKET, **changes}, timeout)
    return work.actions


def test_a_bucket_that_is_there_is_left_alone():
    store = Store(data="")
    assert run(store) == []
    assert store.asked == ["HEAD", "GET ?versioning"]


@pytest.mark.parametrize(
    ("before", "wanted", "after", "actions"),
    [
        ("", True, "Enabled", ["versioning of data: Enabled"]),
        ("Suspended", True, "Enabled", ["versioning of data: Enabled"]),
        ("Enabled", True, "Enabled", []),
        ("Enabled", False, "Suspended", ["versioning of data: Suspended"]),
        ("Suspended", False, "Suspended", []),
    ],
)
def test_versioning_is_as_the_site_file_says(before, wanted, after, actions):
    store = Store(data=before)
    assert run(store, versioning=wanted) == actions
    assert store.buckets == {"data": after}


def test_a_missing_bucket_is_made_with_the_place_where_one_is_named():
    store = Store()
    assert run(store, versioning=True) == ["make data", "versioning of data: Enabled"]
    assert store.body == b""
    store = Store()
    run(store, place="z0")
    assert b"<LocationConstraint>z0</LocationConstraint>" in store.body


def test_another_user_s_bucket_is_an_error_that_says_so():
    store = Store()
    store.foreign.add("data")
    with pytest.raises(S3Error, match="belongs to somebody else"):
        run(store)
    assert store.asked == ["HEAD"]


def test_it_waits_for_a_store_that_starts_and_not_for_ever():
    store = Store(data="")
    store.down = 3
    assert run(store, timeout=10) == []
    store.down = 50
    with pytest.raises(S3Error, match="no server there"):
        run(store, timeout=10)


def test_a_dry_run_asks_and_changes_nothing():
    store = Store()
    assert run(store, check_mode=True, versioning=True) == ["make data"]
    assert store.buckets == {}


@pytest.mark.parametrize("before", ["", '{"Version": "2012-10-17", "Statement": []}', "no JSON"])
def test_a_policy_is_set_where_it_is_another_one(before):
    store = Store(data="")
    store.policy = before
    assert run(store, check_mode=True, policy=POLICY) == ["policy of data"]
    assert store.policy == before
    assert run(store, policy=POLICY) == ["policy of data"]
    assert json.loads(store.policy) == POLICY
    store.policy = json.dumps(POLICY, indent=3)
    assert run(store, policy=POLICY) == []


def test_a_policy_that_was_not_set_by_us_stays_and_one_that_cannot_be_read_is_an_error():
    store = Store(data="")
    store.policy = json.dumps(POLICY)
    assert run(store) == []
    assert json.loads(store.policy) == POLICY
    refused = store.ask
    store.ask = lambda b, m, q, d: (
        (403, "<Code>AccessDenied</Code>") if "policy" in q else refused(b, m, q, d)
    )
    with pytest.raises(S3Error, match="policy of data cannot be read: 403 AccessDenied"):
        run(store, policy=POLICY)


def test_former_versions_go_after_a_time_and_the_rule_is_written_once():
    store = Store(data="Enabled")
    given = {"versioning": True, "former_days": 14, "unfinished_days": 2}
    assert run(store, **given) == ["former versions of data: kept for 14 days"]
    assert "<NoncurrentDays>14</NoncurrentDays>" in store.rules
    # What stands is never removed by its age.
    assert "<Days>" not in store.rules
    assert run(store, **given) == []
    assert run(store, **{**given, "former_days": 30}) == ["former versions of data: kept for 30 days"]
    store.asked.clear()
    assert run(store, **{**given, "former_days": 7}, check_mode=True) == [
        "former versions of data: kept for 7 days"
    ]
    assert not any(asked.startswith("PUT") for asked in store.asked)


def test_a_bucket_s_own_rules_are_left_alone_where_none_are_given():
    store = Store(data="")
    store.rules = "<Rule/>"
    assert run(store) == []
    assert store.rules == "<Rule/>"

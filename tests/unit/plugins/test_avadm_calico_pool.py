"""avadm_calico_pool: a pool is written where it differs, also while other masters write."""

import json

import pytest
from avadm_calico_pool import PoolError, Pools

SPEC = {"cidr": "10.64.0.0/12", "blockSize": 26, "ipipMode": "Never", "natOutgoing": True}


class Calico:
    """calicoctl before pools; each of `refusals` is stated once instead of a write."""

    def __init__(self, *refusals, **pools):
        self.pools, self.refusals, self.writes = pools, list(refusals), 0

    def __call__(self, argv, data):
        if argv[1] == "get":
            items = [{"metadata": {"name": n}, "spec": s} for n, s in self.pools.items()]
            return 0, json.dumps({"items": items}), ""
        self.writes += 1
        if self.refusals:
            return 1, "", self.refusals.pop()
        one = json.loads(data)
        self.pools[one["metadata"]["name"]] = {"nodeSelector": "all()", **one["spec"]}
        return 0, "", ""

    def keep(self, dry=False):
        return Pools(self, "calicoctl", lambda _: None).keep("pods", SPEC, dry)


def test_it_is_made_once_and_what_calico_adds_or_leaves_out_is_no_difference():
    calico = Calico("update conflict")
    assert calico.keep(dry=True) == ["pool pods is missing"]
    assert calico.writes == 0
    assert calico.keep() == ["pool pods is missing"]
    del calico.pools["pods"]["ipipMode"]
    assert calico.keep() == []
    assert calico.writes == 2


def test_drift_is_reported_and_put_right():
    calico = Calico(pods={**SPEC, "natOutgoing": False, "ipipMode": "Always", "nodeSelector": "rack == 'r1'"})
    report = calico.keep()
    assert report == ['ipipMode: found "Always", wanted "Never"', "natOutgoing: found false, wanted true"]
    assert calico.pools["pods"] == {**SPEC, "nodeSelector": "rack == 'r1'"}, "what others set stays"
    assert calico.keep() == []


def test_what_calico_refuses_again_and_again_fails_with_its_words():
    with pytest.raises(PoolError, match="cidr cannot be changed"):
        Calico(*["cidr cannot be changed"] * 9).keep()

"""Removing a node's daemons of ceph: what is asked of the others before."""

from types import SimpleNamespace

import pytest

from avadm.operations import removal_ceph
from tests.unit.fakes import sites
from tests.unit.fakes.nodes import answer

GATEWAY = ("mon", "osd", "rgw")
SITE = {
    "components": {
        "object_store": {
            "vip": "10.0.0.240",
            "users": [{"name": "u"}],
            "buckets": [{"name": "bucket", "owner": "u"}],
        }
    }
}


class Gateways:
    """ssh to gateways, of which those in `alive` answer at their own address alone."""

    def __init__(self, *alive):
        self.alive = {f"{removal_ceph.HEALTH} {address}" for address in alive}

    def map(self, commands, *, timeout=60.0, stdin=None):
        return {n: answer(n, c, rc=0 if c in self.alive else 3) for n, c in commands.items()}


def refusals(*alive):
    site = sites.site(
        sites.node("a", 1, *GATEWAY), sites.node("b", 2, *GATEWAY), sites.node("c", 3, *GATEWAY), **SITE
    )
    cluster = SimpleNamespace(site=site, fleet=Gateways(*alive))
    leaving = SimpleNamespace(
        cluster=cluster,
        name="a",
        node=site.node("a"),
        others=lambda role: ["b", "c"],
        dead=False,
        touched=("a",),
    )
    return [f.check for f in removal_ceph.rgw(leaving).refusals]


@pytest.mark.parametrize(
    ("alive", "wanted"), [(("10.0.0.2",), []), ((), ["last-of-role"]), (("10.0.0.1",), ["last-of-role"])]
)
def test_a_gateway_leaves_only_where_another_ones_own_address_answers(alive, wanted):
    assert refusals(*alive) == wanted

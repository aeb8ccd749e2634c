"""Which nodes take part in a phase when the site leaves out what the phase makes."""

import pytest

from avadm.plan.phases import PHASES
from avadm.site.model import Site

ROLES = {"stor1": ["mon", "mgr", "osd"], "comp1": ["client"]}


def hosts(phase: str, ceph: dict[str, object]) -> tuple[str, ...]:
    site = Site.model_validate(
        {
            "name": "t",
            "network": {"management": "10.0.0.0/24", "domain": "example"},
            "nodes": [
                {"name": n, "address": f"10.0.0.{i}", "roles": r} for i, (n, r) in enumerate(ROLES.items(), 1)
            ],
            "components": {"ceph": ceph},
        }
    )
    return next(p for p in PHASES if p.name == phase).hosts(site)


@pytest.mark.parametrize(("phase", "without"), [("cephfs", {"filesystem": None}), ("rbd", {"rbd_pools": []})])
def test_no_node_takes_part_where_there_is_nothing_to_make(phase: str, without: dict[str, object]) -> None:
    assert hosts(phase, {}) == ("stor1", "comp1")
    assert hosts(phase, without) == ()
    assert hosts("ceph", without) == ("stor1",)

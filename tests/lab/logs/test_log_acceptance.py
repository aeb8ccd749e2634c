"""The logs suite on the lab: all is well, and a node that does not send is seen."""

import pytest

from tests.lab.acceptance.drive import accept
from tests.lab.faults.planting import planted

pytestmark = [pytest.mark.lab, pytest.mark.slow]


@pytest.mark.usefixtures("site_file")
def test_lines_arrive_and_none_is_lost():
    status, checks = accept(suite="logs")
    assert {c: v["verdict"] for c, v in checks.items()} == {"A-LOG-ARRIVE": "PASS", "A-LOG-LOSS": "PASS"}
    assert status == 0


@pytest.mark.usefixtures("site_file")
def test_a_node_that_sends_nothing_is_seen(lab, tried):
    row = tried("negative control", "the shipper of one node is stopped", "A-LOG-ARRIVE FAIL (missing)")
    with planted(
        lab, "mon:0", "log-shipper", "systemctl stop avadm-log-shipper", "systemctl start avadm-log-shipper"
    ):
        _, checks = accept("A-LOG-ARRIVE", suite="logs")
    (check,) = checks.values()
    failing = [m["name"] for m in check["metrics"] if m["verdict"] == "FAIL"]
    row.came = f"{check['verdict']} ({', '.join(failing)})"
    assert "missing" in failing


@pytest.mark.usefixtures("site_file")
def test_a_node_that_sends_to_one_store_alone_is_seen(lab, ways, tried):
    if not lab.names("worker"):
        pytest.skip("iptables is on Kubernetes' nodes alone")
    row = tried(
        "negative control",
        "one node reaches only the store that is stopped",
        "A-LOG-LOSS FAIL (missing-down)",
    )
    other = lab.node(list(ways)[1])["address"]
    rule = f"OUTPUT -p tcp -d {other} --dport 9428 -j REJECT"
    with planted(lab, "worker:-1", "log-way", f"iptables -I {rule}", f"iptables -D {rule}"):
        _, checks = accept("A-LOG-LOSS", suite="logs")
    (check,) = checks.values()
    failing = [m["name"] for m in check["metrics"] if m["verdict"] == "FAIL"]
    row.came = f"{check['verdict']} ({', '.join(failing)})"
    assert "missing-down" in failing

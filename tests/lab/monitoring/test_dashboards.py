"""Every query of every dashboard returns data from the lab's Prometheus; there is no grafana here."""

import json
from pathlib import Path

import pytest

from avadm.site.load import load

pytestmark = pytest.mark.lab

DASHBOARDS = sorted((Path(__file__).parents[3] / "roles/grafana/files/dashboards").glob("*.json"))
# What a reader sees first: every variable on "All", whose value is its allValue.
CASES = [
    (path.stem, panel["title"], target["expr"], data)
    for path in DASHBOARDS
    for data in [json.loads(path.read_text())]
    for panel in data["panels"]
    for target in panel["targets"]
]


def substituted(expr, dashboard):
    for variable in dashboard["templating"]["list"]:
        expr = expr.replace(f"${variable['name']}", variable.get("allValue") or "")
    assert "$" not in expr, f"a variable that the dashboard does not declare: {expr}"
    return expr


NEEDS = {
    "cache": "alluxio_master",
    "control-plane": "master",
    "gpu": "gpu",
    "kubernetes": "master",
    "objects": "rgw",
}
"""Dashboard to the role without which it has nothing to show."""


@pytest.mark.parametrize(
    ("name", "title", "expr", "dashboard"), CASES, ids=[f"{c[0]}: {c[1]}" for c in CASES]
)
def test_a_panels_query_returns_data_in_every_replica(lab, replicas, nodes, name, title, expr, dashboard):
    if name == "logs" and not load(lab.site_path).site.components.logs:
        pytest.skip("this lab keeps no logs")
    needed = NEEDS.get(name)
    if needed and not any(needed in n["roles"] for n in nodes):
        pytest.skip(f"no node has the role {needed}")
    for replica in replicas:
        assert replica.query(substituted(expr, dashboard)), f"no data from {replica} for {expr}"

"""Dashboards are whole."""

import json
from pathlib import Path

import pytest

from tests.unit.fakes.roles import value, variables

ROOT = Path(__file__).parents[3]
DASHBOARDS = sorted((ROOT / "roles/grafana/files/dashboards").glob("*.json"))


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda p: p.stem)
def test_panels_lie_beside_each_other(path):
    taken = set()
    for panel in json.loads(path.read_text())["panels"]:
        grid = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(grid["x"], grid["x"] + grid["w"])
            for y in range(grid["y"], grid["y"] + grid["h"])
        }
        assert grid["x"] + grid["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda p: p.stem)
def test_every_panel_has_a_title_and_asks_the_chosen_prometheus(path):
    data = json.loads(path.read_text())
    assert data["uid"].startswith("avadm-")
    for panel in data["panels"]:
        assert panel["title"]
        assert panel["targets"]
        assert panel["datasource"] == "${datasource}"


def test_each_dashboard_is_installed_where_a_site_has_its_subject(full):
    own = variables("grafana")
    every = value(
        "{{ _grafana_dashboards }}",
        **own | {"grafana_more_dashboards": full.all["grafana_more_dashboards"]},
    )
    assert every == sorted(path.stem for path in DASHBOARDS)
    least = set(value("{{ _grafana_dashboards }}", **own))
    assert least == set(every) - set(full.all["grafana_more_dashboards"])
    assert least < set(every)

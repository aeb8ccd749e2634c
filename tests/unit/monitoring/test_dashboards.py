"""Dashboards are whole."""

import json
from pathlib import Path

import pytest

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

"""The queries of the object store's dashboard, on series as ceph's managers really export them; run by promtool."""

import json
from pathlib import Path

import pytest

BOARD = Path(__file__).parents[3] / "roles/grafana/files/dashboards/objects.json"
GATEWAYS = ("s1", "s2")
# A minute apart, ten of them: six requests a second, one of them refused.
COUNTERS = {
    "ceph_rgw_req": 360,
    "ceph_rgw_failed_req": 60,
    "ceph_rgw_get_b": 6000,
    "ceph_rgw_put_b": 600,
    "ceph_rgw_get_initial_lat_sum": 12,
    "ceph_rgw_get_initial_lat_count": 120,
    "ceph_rgw_put_initial_lat_sum": 0,
    "ceph_rgw_put_initial_lat_count": 0,
}
PROBES = [("objects/vip", "objects-vip", 1), ("s1/objects", "objects", 1), ("s2/objects", "objects", 0)]
# What each panel shows of it: of every gateway, user, pool, or of all.
WANTED = {
    "The store answers": {"{}": 1},
    "Gateways that answer": {"{}": 1},
    "Gateways that do not": {"{}": 1},
    "Requests a second": {"{}": 12},
    "Refused or failed": {"{}": 1 / 6},
    "Bytes of all users": {"{}": 300},
    "Objects of all users": {"{}": 7},
    "Users were counted": {"{}": 600},
    "Requests": dict.fromkeys(GATEWAYS, 6),
    "Refused or failed requests": dict.fromkeys(GATEWAYS, 1),
    "Requests in progress": dict.fromkeys(GATEWAYS, 3),
    "Latency of reads": dict.fromkeys(GATEWAYS, 0.1),
    "Latency of writes": dict.fromkeys(GATEWAYS, 0),
    "Read": dict.fromkeys(GATEWAYS, 100),
    "Written": dict.fromkeys(GATEWAYS, 10),
    "Answer to a probe": {
        f'probe_duration_seconds{{instance="{n}", probe="{p}"}}': 0.5 for n, p, _ in PROBES
    },
    "Users: bytes of their quota": {'{user="ai"}': 0.5},
    "Users: objects of their quota": {'{user="ai"}': 0.1},
    "Bytes by user": {'{user="ai"}': 200, '{user="free"}': 100},
    "Objects by user": {'{user="ai"}': 3, '{user="free"}': 4},
    "Bytes by pool": {'{name="default.rgw.meta", pool_id="2"}': 50},
    "Objects by pool": {'{name="default.rgw.meta", pool_id="2"}': 5},
    "Operations by pool": {'{name="default.rgw.meta", pool_id="2"}': 3},
}


def gateways(release):
    """Return the series of two gateways as the managers of a release export them."""
    found = {}
    for number, name in enumerate(GATEWAYS, start=4100):
        by = f'ceph_daemon="rgw.{name}"' if release < 16 else f'instance_id="{number}"'
        found |= {f"{metric}{{{by}}}": f"0+{step}x20" for metric, step in COUNTERS.items()}
        found[f"ceph_rgw_qlen{{{by}}}"] = "3x20"
        own = "" if release < 16 else f', instance_id="{number}"'
        found[f'ceph_rgw_metadata{{ceph_daemon="rgw.{name}", hostname="{name}"{own}}}'] = "1x20"
    return found


def others():
    """Return what else the panels ask for: probes of which one fails, users, pools."""
    found = {}
    for name, probe, up in PROBES:
        labels = f'{{instance="{name}", probe="{probe}"}}'
        found |= {f"probe_success{labels}": f"{up}x20", f"probe_duration_seconds{labels}": "0.5x20"}
    for node in GATEWAYS:
        for user, size, count in (("ai", 200, 3), ("free", 100, 4)):
            labels = f'{{node="{node}", user="{user}"}}'
            found |= {f"avadm_objects_user_bytes{labels}": f"{size}x20"}
            found |= {f"avadm_objects_user_objects{labels}": f"{count}x20"}
        found[f'avadm_objects_user_quota_bytes{{node="{node}", user="ai"}}'] = "400x20"
        found[f'avadm_objects_user_quota_objects{{node="{node}", user="ai"}}'] = "30x20"
    found['node_textfile_mtime_seconds{file="/x/avadm-objects-usage.prom"}'] = "0x20"
    for number, name in ((1, "rbd"), (2, "default.rgw.meta")):
        found[f'ceph_pool_metadata{{name="{name}", pool_id="{number}"}}'] = "1x20"
        about = {"stored": "50x20", "objects": "5x20", "rd": "0+60x20", "wr": "0+120x20"}
        for metric, values in about.items():
            found[f'ceph_pool_{metric}{{pool_id="{number}"}}'] = values
    return found


def labels(key):
    return f'{{ceph_daemon="rgw.{key}"}}' if key in GATEWAYS else key


@pytest.mark.parametrize("release", [14, 16])
def test_every_panel_shows_what_the_managers_of_a_release_export(tool, tmp_path, release):
    panels = {p["title"]: p["targets"] for p in json.loads(BOARD.read_text())["panels"]}
    assert panels.keys() == WANTED.keys()
    series = gateways(release) | others()
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {
                "expr": target["expr"],
                "eval_time": "10m",
                "exp_samples": [{"labels": labels(k), "value": v} for k, v in WANTED[title].items()],
            }
            for title, targets in panels.items()
            for target in targets
        ],
    }
    # JSON is YAML.
    (tmp_path / "panels.test.yml").write_text(
        json.dumps({"rule_files": [], "evaluation_interval": "1m", "tests": [test]})
    )
    tool("promtool", "test", "rules", "panels.test.yml", cwd=tmp_path)

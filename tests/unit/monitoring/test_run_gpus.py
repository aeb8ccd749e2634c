"""The join of the exporter's cards with the pods that have them and with whose these are (A-SC9), evaluated by promtool."""

import json
import re

import pytest

from ava.web import metrics
from avadm.components.gpu import dashboard_users
from avadm_acceptance.platform_target import panel
from tests.unit.fakes.roles import ROLES

AVA = ROLES / "prometheus/files/rules/ava.yml"
FILE = 'node_textfile_mtime_seconds{node="g1",file="/x/avadm-gpu.prom"}'
CARD = 'dcgm_gpu_utilization{{node="{0}",gpu="{1}",uuid="GPU-{0}-{1}",instance="{0}:9400"}}'
POD = 'avadm_gpu_pod{{node="{0}",gpu="{1}",uuid="GPU-{0}-{1}",pod_uid="{2}",instance="{0}:9100"}}'
INFO = 'ava_run_info{{pod_uid="{0}",run="{1}",user="{2}",group="vision",name="bert",kind="training",namespace="{3}",pod="{4}"}}'
OWN = "ava-system"
RECORD = "run:gpu_utilization:percent"
LABELS = '{{node="g1",gpu="{0}",uuid="GPU-g1-{0}",run="{1}",user="{2}",group="vision",name="bert",kind="training"}}'
GOOD = {
    FILE: "0+60x30",
    CARD.format("g1", 0): "40x30",
    CARD.format("g1", 1): "70x30",
    POD.format("g1", 0, "u1"): "1x30",
    POD.format("g1", 1, "u2"): "1x30",
    INFO.format("u1", "r1", "ann", OWN, "op-1"): "1x30",
    INFO.format("u2", "r2", "ben", OWN, "op-1"): "1x30",
}
ANN = (LABELS.format(0, "r1", "ann"), 40)
BEN = (LABELS.format(1, "r2", "ben"), 70)


@pytest.fixture
def joined(tool, tmp_path):
    def check(series, wanted, at="10m"):
        whole = {
            "rule_files": [str(AVA)],
            "evaluation_interval": "1m",
            "tests": [
                {
                    "interval": "1m",
                    "input_series": [{"series": s, "values": v} for s, v in series.items()],
                    "promql_expr_test": [
                        {
                            "expr": RECORD,
                            "eval_time": at,
                            "exp_samples": [{"labels": RECORD + labels, "value": v} for labels, v in wanted],
                        }
                    ],
                }
            ],
        }
        (tmp_path / "case.json").write_text(json.dumps(whole))
        tool("promtool", "test", "rules", tmp_path / "case.json")

    return check


def test_each_card_is_reported_with_its_runs_user_group_name_and_node(joined):
    joined(GOOD, [ANN, BEN])


def test_two_operators_at_the_turn_of_the_lead_and_two_runs_on_one_card_are_no_trouble(joined):
    shared = {
        **GOOD,
        INFO.format("u1", "r1", "ann", OWN, "op-2"): "1x30",
        POD.format("g1", 0, "u2"): "1x30",
    }
    joined(shared, [ANN, BEN, (LABELS.format(0, "r2", "ben"), 40)])


def test_a_pod_that_kubelet_still_names_and_is_gone_has_nothing(joined):
    joined({**GOOD, INFO.format("u2", "r2", "ben", OWN, "op-1"): "1x3 stale"}, [ANN])


def test_what_a_users_pod_says_of_runs_counts_for_nothing(joined):
    lie = {INFO.format("u1", "r9", "eve", "ava-vision", "liar"): "1x30"}
    joined({**GOOD, **lie}, [ANN, BEN])


def test_a_node_whose_plug_in_is_silent_is_reported_nothing_of(joined):
    joined({**GOOD, FILE: "0x30"}, [], at="20m")


def test_cards_of_the_same_number_on_two_nodes_are_not_mixed_up(joined):
    joined({**GOOD, CARD.format("g2", 0): "99x30"}, [ANN, BEN])


STEM = (
    'kube_pod_container_resource_requests{{resource="nvidia_com_gpu",namespace="a",pod="{}",container="m",node="g1",'
    'instance="{}"}}'
)
PHASE = 'kube_pod_status_phase{{namespace="a",pod="{}",phase="{}",instance="{}"}}'
SIZE = 'kube_node_status_allocatable{{resource="nvidia_com_gpu",node="{}",instance="{}"}}'


def test_a_machine_has_the_gpus_used_that_pods_have_which_have_not_ended(tool, tmp_path):
    """Two masters tell the same; g2 has no pods."""
    series = {}
    for master in ("m1", "m2"):
        series |= {SIZE.format(node, master): "4x9" for node in ("g1", "g2")}
        for pod, gpus, phase in (("runs", 2, "Running"), ("over", 1, "Succeeded")):
            series[STEM.format(pod, master)] = f"{gpus}x9"
            report = {"Running": 0, "Succeeded": 0, phase: 1}
            series |= {PHASE.format(pod, one, master): f"{value}x9" for one, value in report.items()}
    wanted = {"used": {"g1": 2, "g2": 0}, "free": {"g1": 2, "g2": 4}}
    asked = {"used": panel("gpu", "Used per machine"), "free": panel("gpu", "Free per machine")}
    case = {
        "interval": "1m",
        "input_series": [{"series": s, "values": v} for s, v in series.items()],
        "promql_expr_test": [
            {
                "expr": asked[what],
                "eval_time": "5m",
                "exp_samples": [{"labels": f'{{node="{n}"}}', "value": v} for n, v in wanted[what].items()],
            }
            for what in asked
        ],
    }
    (tmp_path / "case.json").write_text(json.dumps({"rule_files": [], "tests": [case]}))
    tool("promtool", "test", "rules", tmp_path / "case.json")


def test_grafana_and_the_web_site_ask_for_what_is_recorded():
    titles = dict.fromkeys(("gpu", "cpu", "memory"), "")
    asked = dashboard_users.build() + metrics.charts("ns", "r1", 1, titles)[0].query
    named = set(re.findall(r"\brun:[a-z_]+:[a-z]+", asked))
    assert named == {RECORD}
    assert f"record: {RECORD}\n" in AVA.read_text()

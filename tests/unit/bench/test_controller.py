"""make bench-controller: the site of hollow nodes, what modules are answered there, and the figure that counts."""

import importlib.util
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from avadm.site.load import load as load_site
from tests.unit.fakes.scripts import load

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def controller():
    return load("bench/controller.py")


@pytest.fixture(scope="module")
def folder(controller, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hollow")
    controller.write_site(folder, 12)
    return folder


@pytest.fixture
def answers(folder):
    spec = importlib.util.spec_from_file_location("hollow_answers", folder / "hollow" / "answers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_site_has_as_many_hosts_as_asked_for_with_all_components(folder):
    site = load_site(folder / "site.yml").site
    assert len(site.nodes) == 12
    assert {"mon", "master", "worker", "rgw"} <= {role for node in site.nodes for role in node.roles}
    assert (
        site.components.alluxio and site.components.database and site.components.logs and site.components.ava
    )


def test_what_the_cache_lacks_is_reported_before_anything_is_measured(
    controller, folder, monkeypatch, tmp_path
):
    monkeypatch.setenv("AVADM_CACHE", str(tmp_path))
    assert any(line.startswith("kubernetes ") for line in controller.missing_artifacts(folder, []))
    assert all("avadm artifacts build" in line for line in controller.missing_artifacts(folder, []))
    assert controller.missing_artifacts(folder, ["base"]) == []


def test_no_address_is_given_twice_at_the_largest_size_of_a_site(controller, tmp_path):
    controller.write_site(tmp_path, 256)
    nodes = load_site(tmp_path / "site.yml").site.nodes
    assert len({str(n.address) for n in nodes}) == 256


def test_each_node_says_its_own_name(answers, folder, monkeypatch):
    names = json.loads((folder / "hollow" / "site.json").read_text())["names"]
    for address, name in names.items():
        monkeypatch.setenv("SSH_CONNECTION", f"10.88.0.1 50000 {address} 22")
        assert answers.answer("command", {"argv": ["hostname"]})["stdout"] == name


def test_prometheus_says_that_it_knows_every_target(answers, folder):
    wanted = json.loads((folder / "hollow" / "site.json").read_text())["targets"]
    reports = [t["scrapePool"] for t in answers.answer("avadm_ask", {})["json"]["data"]["activeTargets"]]
    assert wanted["node"] == 12
    assert {job: reports.count(job) for job in wanted} == wanted


def test_a_module_that_no_one_answers_for_has_changed_nothing(answers):
    assert answers.answer("avadm_unheard_of", {})["changed"] is False


def test_a_further_host_costs_what_more_tasks_took_and_not_what_starting_took(controller):
    rows = [{"hosts": 64, "cpu_s": 110.0, "ran": 3000}, {"hosts": 8, "cpu_s": 50.0, "ran": 1000}]
    assert controller.marginal(rows) == pytest.approx(0.03)
    assert math.isnan(controller.marginal(rows[:1]))


def test_modules_are_answered_when_they_have_read_their_arguments_and_nothing_of_them_runs(folder, tmp_path):
    """What a hollow node's python does with mitogen's runner, without mitogen."""
    script = """
import json, sys, types
sys.path.insert(0, sys.argv[1])
import sitecustomize
from ansible.module_utils import basic
class NewStyleRunner:
    py_module_name = "ansible.modules.file"
    def _run(self):
        module = basic.AnsibleModule({"path": {"type": "str"}, "force": {"type": "bool", "default": False}})
        open(sys.argv[2], "w").close()
basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": {"path": "/x"}}).encode()
NewStyleRunner()._run()
"""
    made = tmp_path / "made"
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder / "hollow"), str(made)],
        capture_output=True,
        text=True,
        check=False,
    )
    report = json.loads(done.stdout)
    assert report["changed"] is False
    assert report["invocation"]["module_args"] == {"path": "/x", "force": False}
    assert not made.exists()

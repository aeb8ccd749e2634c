"""`avadm ava create-admin`, as a user types it; what a master answers is made up."""

import json

import pytest
from click.testing import CliRunner

from avadm.cli.main import App, cli
from avadm.kube.pods import NO_POD
from avadm.remote.reason import Reason, Why
from tests.unit.fakes.cli import refusals
from tests.unit.fakes.nodes import answer

SITE = """
version: 1
name: t
profile: lab-bookworm
network: {management: 10.0.0.0/24, domain: t.test, api_vip: 10.0.0.250, ingress_vip: 10.0.0.251}
nodes:
  - {name: mast1, address: 10.0.0.1, roles: [etcd, master]}
  - {name: mast2, address: 10.0.0.2, roles: [etcd, master]}
  - {name: mast3, address: 10.0.0.3, roles: [etcd, master]}
  - {name: comp1, address: 10.0.0.4, roles: [worker, dns, ingress, registry]}
  - {name: comp2, address: 10.0.0.5, roles: [worker, database]}
  - {name: comp3, address: 10.0.0.6, roles: [worker, database]}
components:
  ceph: {filesystem: null, rbd_pools: []}
  monitoring: {existing: ["http://10.0.0.9:9090"]}
  database: {vip: 10.0.0.99}
  ava: {}
"""
PASSWORD = "Correct-horse; $(battery) 'staple'"


class Masters:
    """ssh to masters: what each answers, and what it was sent."""

    def __init__(self):
        self.answers, self.sent = {}, []

    def run(self, node, command, *, timeout=60.0, stdin=None):
        self.sent.append((node, command, stdin))
        given = self.answers.get(node, {"out": "made\n"})
        return answer(node, command, **given)

    def close(self, nodes=None):
        pass


@pytest.fixture
def masters(monkeypatch):
    made = Masters()
    monkeypatch.setattr(App, "fleet", lambda self: made)
    return made


@pytest.fixture
def run(tmp_path, masters):
    def call(*arguments, password=f"{PASSWORD}\n", site=SITE):
        path = tmp_path / "site.yml"
        path.write_text(site)
        return CliRunner().invoke(
            cli, ["--site", str(path), "ava", "create-admin", *arguments], input=password
        )

    return call


def test_the_password_goes_by_standard_input_alone(run, masters):
    done = run("root", "--email", "r@t.test")
    assert (done.exit_code, done.output) == (0, "root is an administrator now.\n")
    [(node, command, stdin)] = masters.sent
    assert (node, stdin.decode()) == ("mast1", f"{PASSWORD}\n")
    assert "battery" not in command + done.output
    assert command.endswith("--name root --email r@t.test")
    assert "exec --stdin --namespace=ava-system" in command


def test_a_name_is_one_word_for_the_shell_whatever_it_is(run, masters):
    run("$(reboot); x")
    assert masters.sent[0][1].endswith("--name '$(reboot); x'")


def test_a_second_time_says_that_nothing_was_changed(run, masters):
    masters.answers["mast1"] = {"out": "unchanged\n"}
    assert json.loads(run("root", "--json").output) == {"site": "t", "name": "root", "did": "unchanged"}


def test_the_next_master_is_asked_where_one_is_silent_or_sees_no_pod(run, masters):
    masters.answers["mast1"] = {"rc": 255, "error": Reason(Why.NO_ROUTE, "no route to host")}
    masters.answers["mast2"] = {"rc": NO_POD}
    assert run("root").exit_code == 0
    assert [node for node, _, _ in masters.sent] == ["mast1", "mast2", "mast3"]


def test_no_ready_pod_is_reported_with_where_to_look(run, masters):
    masters.answers = {name: {"rc": NO_POD} for name in ("mast1", "mast2", "mast3")}
    found = refusals(run("root"))
    assert [f.host for f in found] == ["mast1", "mast2", "mast3"]
    assert "kubectl get pods --namespace ava-system" in found[0].remedy


def test_what_the_platform_refuses_is_reported_without_the_password(run, masters):
    text = f"password: a length of at least 12. Wanted: more than {PASSWORD}\ncommand terminated with exit code 2\n"
    masters.answers["mast1"] = {"rc": 2, "err": text}
    [found] = refusals(run("root"))
    assert "at least 12" in found.found
    assert "battery" not in found.found
    assert "command terminated" not in found.found


def test_an_empty_password_is_refused_before_anyone_is_asked(run, masters):
    [found] = refusals(run("root", password="\nsecond line\n"))
    assert found.check == "password-missing"
    assert masters.sent == []


def test_a_site_without_the_platform_says_what_to_add(run, masters):
    [found] = refusals(run("root", site=SITE.replace("  ava: {}\n", "")))
    assert "ava: {}" in found.remedy
    assert masters.sent == []

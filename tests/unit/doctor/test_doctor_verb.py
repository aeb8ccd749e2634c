"""`avadm doctor`: what it asks, prints and exits with, over nodes that are made up."""

import json

import pytest

from avadm.doctor import collect as collecting
from avadm.doctor.parts import QUESTIONS
from avadm.remote import call as asking
from tests.unit.doctor.faulty_snapshots import not_ready, pods, silent
from tests.unit.doctor.healthy import NODES, data, snapshot
from tests.unit.doctor.troubles import lose, put
from tests.unit.fakes.nodes import answer, given

SITE = """
name: base
profile: lab-bookworm
network: {management: 10.0.0.0/24, domain: lab.internal}
time: {servers: [ntp.example.com]}
nodes: [{name: cpu01, address: 10.0.0.1}, {name: cpu02, address: 10.0.0.2}]
"""


@pytest.fixture
def avadm(called, tmp_path, monkeypatch):
    monkeypatch.setattr("avadm.remote.keyfile.usable", lambda path: None)
    (tmp_path / "site.yml").write_text(SITE)
    return lambda *arguments: called("--site", tmp_path / "site.yml", "doctor", *arguments)


@pytest.fixture
def judged(avadm, tmp_path):
    """Return a function: judge a healthy snapshot with some changes, which is kept in a file."""

    def judge(*arguments, changes=()):
        changed = data()
        for change in changes:
            change(changed)
        (tmp_path / "s.json").write_text(snapshot(changed).as_json())
        return avadm(tmp_path / "s.json", *arguments)

    return judge


def test_a_healthy_snapshot_is_good(judged):
    code, out, _ = judged()
    assert code == 0
    assert "0 bad, 0 to watch, 0 not known" in out


def test_json_has_the_promised_fields_and_a_bad_thing_exits_1(judged):
    code, out, _ = judged("--json", changes=[put("comp2 gpu", uvm=False)])
    rows = json.loads(out)["checks"]
    assert code == 1
    assert {tuple(r) for r in rows} == {("id", "status", "where", "evidence", "remedy", "requirement")}
    (row,) = [r for r in rows if r["status"] != "ok"]
    assert (row["id"], row["status"], row["where"], row["requirement"]) == ("gpu-uvm", "bad", "comp2", "K8")
    assert "avadm-nvidia-uvm" in row["remedy"]


def test_a_warning_alone_exits_0_and_what_is_not_known_2(judged):
    warning = put("mast1 haproxy", client=60)
    assert judged(changes=[warning])[0] == 0
    code, out, _ = judged(changes=[warning, lose("mast1 memory")])
    assert code == 2
    assert "? memory" in out


def test_the_same_trouble_of_many_nodes_is_reported_once(judged):
    _, out, _ = judged(changes=[put(f"{name} cni", there=[]) for name in ("comp1", "comp2")])
    assert out.count("✗ cni-plugins") == 1
    assert "comp1-2" in out
    assert "remedy  `avadm apply nodes` puts plug-ins and configuration there again.\n" in out


def test_a_silent_node_is_reported_once(judged):
    code, out, _ = judged(changes=[silent])
    assert code == 1
    assert out.count("No route to host") == 2  # as a trouble, and as why the checks could not look


def test_only_a_topic_or_a_check(judged):
    rows = json.loads(judged("--json", "--only", "gpu")[1])["checks"]
    assert {r["id"] for r in rows} == {"gpu-uvm", "gpu-devices", "gpu-memory", "gpu-allocatable"}
    both = judged("--json", "--only", "gpu-uvm,gpu-memory")
    assert {r["id"] for r in json.loads(both[1])["checks"]} == {"gpu-uvm", "gpu-memory"}
    assert judged("--only", ",")[0] == 2
    code, _, err = judged("--only", "gpu-uvn")
    assert code == 2
    assert "gpu-uvm" in err


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"not json", b'{"taken": 1, "format": 99, "site": {"name": "a", "nodes": []}, "nodes": {}}'],
)
@pytest.mark.parametrize("name", ["s.json", "s.tar.gz"])
def test_what_is_no_bundle_is_shown(avadm, tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    code, _, err = avadm(tmp_path / name)
    assert code == 2
    assert "bundle" in err or "snapshot" in err


@pytest.fixture
def fleet(monkeypatch):
    """Nodes that tell what a healthy one does; what each is asked with is kept."""

    class Fleet:
        def __init__(self):
            self.asked, self.silent = {}, ()

        def run(self, node, command, *, timeout=60.0, stdin=None):
            if node in self.silent:
                return answer(node, command, rc=255, error="No route to host")
            if stdin is None:
                return answer(node, command, "0.0\n")
            assert node not in self.asked
            self.asked[node] = given(stdin)["parts"]
            parts = {name: data()["nodes"]["comp2"]["parts"].get(name) for name in self.asked[node]}
            reply = json.dumps({"parts": parts, "errors": {}})
            return answer(node, command, f"0.0\n{reply}\n0.1\n")

        def close(self, nodes=None):
            pass

    made = Fleet()
    monkeypatch.setattr("avadm.cli.main.App.fleet", lambda self: made)
    return made


def test_every_node_is_asked_once_for_what_its_checks_need(avadm, fleet):
    code, out, _ = avadm("--json", "--only", "memory")
    assert code == 0, out
    assert fleet.asked == {"cpu01": {"memory": 40}, "cpu02": {"memory": 40}}


def test_where_no_node_answers_it_could_not_look(avadm, fleet):
    fleet.silent = ("cpu01", "cpu02")
    code, out, _ = avadm("--json")
    assert code == 2
    assert {r["status"] for r in json.loads(out)["checks"] if r["id"] == "node-reached"} == {"bad"}


def test_an_answer_that_is_no_answer_is_silence():
    reply = answer("a", "", rc=127, err="python3: not found")
    assert "python3: not found" in collecting.facts_of(asking.answer(reply, dict)).silent


def test_the_healthy_site_has_nodes_of_every_role_that_is_asked():
    held = {role for row in NODES.values() for role in row[1]}
    assert [q.name for q in QUESTIONS if q.duties and not held & set(q.duties)] == []


@pytest.fixture
def looks(avadm, monkeypatch):
    """Return a function: let the nodes give these snapshots in turn, the last one for ever; who asked."""
    monkeypatch.setattr("avadm.cli.doctor.AGAIN_S", 0.01)

    def give(*rounds):
        left, asked = list(rounds), []

        def ask(app, checks, *, quiet):
            asked.append(checks)
            changed = data()
            for change in left.pop(0) if len(left) > 1 else left[0]:
                change(changed)
            return snapshot(changed)

        monkeypatch.setattr("avadm.cli.doctor._ask", ask)
        return asked

    return give


def test_wait_asks_again_until_nothing_is_bad(avadm, looks):
    asked = looks([put("comp2 gpu", uvm=False)], [lose("mast1 memory")], [])
    code, out, err = avadm("--wait", "5m")
    assert (code, len(asked)) == (0, 3)
    assert "0 bad, 0 to watch, 0 not known" in out
    assert "gpu-uvm: " in err
    assert "s left: memory: " in err


def test_wait_ends_and_the_last_answer_counts(avadm, looks):
    asked = looks([put("comp2 gpu", uvm=False)])
    code, out, _ = avadm("--wait", "1s")
    assert code == 1
    assert len(asked) >= 2
    assert "✗ gpu-uvm" in out


def test_without_wait_it_asks_once(avadm, looks):
    asked = looks([put("comp2 gpu", uvm=False)], [])
    assert avadm()[0] == 1
    assert len(asked) == 1


def test_a_bundle_is_not_waited_for(judged):
    code, _, err = judged("--wait", "5m")
    assert code == 2
    assert "a bundle never changes" in err


def test_a_time_to_wait_has_a_unit(avadm):
    code, _, err = avadm("--wait", "5")
    assert code == 2
    assert "Invalid duration '5': expected 90s, 15m or 2h." in err


def waive(check, *nodes, until="2100-01-31"):
    """Return a change of a snapshot's data: a waiver of the site file."""

    def change(changed):
        names = list(changed["nodes"]) if "all" in nodes else list(nodes)
        row = {
            "check": f"doctor:{check}",
            "scope": "doctor",
            "check_id": check,
            "nodes": list(nodes),
            "named": names,
        }
        row |= {"who": "Ann Lee", "why": "spare part ordered", "until": until, "where": "site.yml:9"}
        changed["site"].setdefault("waivers", []).append(row)

    return change


GPU = put("comp2 gpu", uvm=False)


def test_a_waived_finding_is_shown_and_does_not_count(judged):
    code, out, _ = judged(changes=[GPU, waive("gpu-uvm", "comp2")])
    assert code == 0
    assert "~ gpu-uvm  comp2" in out
    assert "waived  by Ann Lee until 2100-01-31: spare part ordered" in out
    assert "0 bad, 0 to watch, 0 not known, 1 finding waived" in out
    rows = json.loads(judged("--json", changes=[GPU, waive("gpu-uvm", "comp2")])[1])["checks"]
    (row,) = [r for r in rows if r["id"] == "gpu-uvm"]
    waiver = {"status": "bad", "who": "Ann Lee", "why": "spare part ordered", "until": "2100-01-31"}
    assert (row["status"], row["where"], row["waiver"]) == ("waived", "comp2", waiver)
    assert judged("--only", "gpu-uvm", changes=[GPU, waive("gpu-uvm", "all")])[0] == 0


@pytest.mark.parametrize(
    ("changes", "code", "wrong"),
    [
        ([GPU, waive("gpu-uvm", "comp1")], 1, {"gpu-uvm": "bad", "waivers": "warn"}),
        ([GPU, waive("gpu-uvm", "comp2", until="2020-01-31")], 1, {"gpu-uvm": "bad", "waivers": "bad"}),
        ([GPU, waive("gpu-uvn", "comp2")], 1, {"gpu-uvm": "bad", "waivers": "bad"}),
        ([waive("gpu-uvm", "comp2")], 0, {"waivers": "warn"}),
        ([waive("gpu-uvm", "comp2", until="2020-01-31")], 1, {"waivers": "bad"}),
        ([lose("mast1 memory"), waive("memory", "mast1")], 2, {"memory": "unknown"}),
        ([GPU, put("mast1 haproxy", client=60), waive("gpu-uvm", "comp2")], 0, {"api-timeouts": "warn"}),
    ],
    ids=[
        "another node",
        "ended",
        "unknown check",
        "unused",
        "ended and unused",
        "not known",
        "another finding",
    ],
)
def test_what_a_waiver_does_not_waive(judged, changes, code, wrong):
    got, out, _ = judged("--json", changes=changes)
    rows = json.loads(out)["checks"]
    assert ({r["id"]: r["status"] for r in rows if r["status"] not in ("ok", "waived")}, got) == (wrong, code)


@pytest.mark.parametrize(
    ("trouble", "check", "nodes", "status"),
    [
        (pods(phase="Failed", reason="Evicted"), "pods-evicted", "mast1", "warn"),
        (pods(phase="Failed", reason="Evicted"), "pods-evicted", "all", "waived"),
        (not_ready, "kube-nodes-ready", "mast1", "bad"),
        (not_ready, "kube-nodes-ready", "comp2", "waived"),
    ],
)
def test_the_node_of_a_finding_is_the_one_that_it_is_about(judged, trouble, check, nodes, status):
    """The first master answers for the whole cluster."""
    rows = json.loads(judged("--json", "--only", check, changes=[trouble, waive(check, nodes)])[1])["checks"]
    assert [r["status"] for r in rows if r["id"] == check] == [status]


def test_the_site_files_waivers_of_the_doctor_are_collected_and_others_are_not(avadm, fleet, tmp_path):
    row = "  - {check: '%s', nodes: [%s], who: Ann, why: later, until: 2100-01-31}\n"
    text = SITE + "waivers:\n" + row % ("doctor:memory", "cpu01") + row % ("memory", "all")
    (tmp_path / "site.yml").write_text(text)
    rows = json.loads(avadm("--json", "--only", "memory")[1])["checks"]
    assert {r["id"]: (r["status"], r["where"]) for r in rows if r["status"] != "ok"} == {
        "waivers": ("warn", "site.yml:8")
    }


def test_site_check_names_a_check_that_the_doctor_does_not_have(called, tmp_path, monkeypatch):
    row = "waivers: [{check: 'doctor:%s', nodes: [all], who: Ann, why: later, until: 2100-01-31}]\n"
    for check, code in (("gpu-uvm", 0), ("gpu-uvn", 2)):
        (tmp_path / "site.yml").write_text(SITE + row % check)
        got, out, _ = called("--site", tmp_path / "site.yml", "site", "check", "--json")
        found = [f for f in json.loads(out)["findings"] if f["check"] == "waivers"]
        assert (got, [f["found"] for f in found]) == (code, ["doctor:gpu-uvn"] if code else [])

"""The doctor's look at the object store, the cache and the logs: where it looks, what is no trouble, what nodes say."""

import http.server
import json
import socket
import threading
from dataclasses import replace

import pytest

from avadm.checks.framework import flat, run
from avadm.components.alluxio.options import CacheMount, HdfsStore
from avadm.components.objects.checks import ACCEPTANCE
from avadm.doctor.checks import CHECKS
from avadm.doctor.parts import parameters, site_facts
from avadm.findings import Severity
from avadm_lab.layout import PARTS as LAB_PARTS
from avadm_validation.suites.objects.users import LIMITED, PLAIN
from tests.unit.doctor.healthy import data, snapshot
from tests.unit.doctor.healthy_data import master, shipper, usage
from tests.unit.doctor.troubles import parts

TOPICS = {"objects", "cache", "database", "logs"}


def asked(site_file, name):
    facts = site_facts(site_file)
    report = parameters(site_file, facts, next(n for n in facts.nodes if n.name == name), None)
    return {p for p in report["parts"] if p.startswith(("objects", "cache_", "database", "log_"))}, report


def test_each_part_is_asked_of_the_nodes_that_have_it(site):
    every = site(LAB_PARTS)
    assert {n: asked(every, n)[0] for n in ("stor1", "stor3", "comp1", "comp3")} == {
        "stor1": {"objects", "log_shipper"},
        "stor3": {"log_shipper"},
        "comp1": {"cache_master", "cache_worker", "cache_mount", "log_store", "log_shipper"},
        "comp3": {"cache_mount", "database", "database_backup", "log_shipper"},
    }
    report = asked(every, "stor1")[1]
    assert report["objects"] == {"port": 7443, "vip": "10.77.0.249"}
    assert (report["cache"]["mount"], report["cache"]["folders"]) == ("/mnt/alluxio", ["cephfs", "s3"])
    assert "vault" not in str(report)


def test_a_site_without_these_parts_is_asked_for_none(site):
    found, report = asked(site(()), "stor1")
    assert found == set()
    assert {"objects", "cache", "database", "logs"} & set(report) == set()


def new(changed):
    for node in ("stor1", "stor2"):
        parts(changed, node)["objects"]["usage"] = usage(age=None, timer=40.0) | {"values": {}}
    for node in changed["nodes"]:
        parts(changed, node)["log_shipper"] = shipper(up=0.0, since=20.0)
    parts(changed, "comp1")["log_store"]["watch"] = {"values": {}, "age_s": None, "timer_s": 20.0}


def no_address(changed):
    for node in ("stor1", "stor2"):
        parts(changed, node)["objects"]["address"] = None


def led_once(changed):
    parts(changed, "mast1")["cache_master"] = master(2.0, 2.0)


def no_roles(changed):
    for node in ("mast1", "mast2", "mast3"):
        parts(changed, node)["cache_master"] = master(None, 2.0 if node == "mast3" else 0.0)


@pytest.mark.parametrize(
    "change",
    [new, no_address, led_once, no_roles],
    ids=[
        "what has just been installed is not late",
        "a store without a virtual address has none to answer",
        "a master that led once still counts its workers and is no second leader",
        "masters that do not tell their role are distinguished by their workers",
    ],
)
def test_what_is_no_trouble(change):
    changed = data()
    change(changed)
    rows = [r for r in flat(run(snapshot(changed), CHECKS)) if r.check.partition("-")[0] in TOPICS]
    assert [r for r in rows if r.severity is not Severity.INFO] == []


def test_users_of_the_acceptance_suite_are_those_that_are_left_out():
    assert all(user.startswith(ACCEPTANCE) for user in (PLAIN, LIMITED))


PAGE = """# HELP Cluster_Workers Generated from Dropwizard metric import
# TYPE Cluster_Workers gauge
Cluster_Workers 2.0
Worker_CapacityTotal{tier="MEM"} 1.0E8
Worker_CapacityTotal{tier="SSD",user="x"} 2.0E8
avadm_objects_user_bytes{user="lab-ai"} 17
avadm_log_new_pattern{component="a",host="b",pattern="} 7"} 1
Other 5
"""


def test_what_patroni_says_is_taken_by_member_and_silence_is_reported(script, monkeypatch):
    listed = {"members": [{"name": "a", "role": "leader", "state": "running", "lag": 0}, {"name": "b"}]}
    asked = []
    answers = [(0, json.dumps(listed), ""), (7, "", "curl: (7) refused\nmore")]
    monkeypatch.setitem(script, "call", lambda argv, seconds: asked.append(argv) or answers.pop(0))
    report = {"address": "10.0.0.1", "database": {"port": 8008}}
    found = script["database"](report)
    assert found == {"said": "", "members": {"a": ["leader", "running"], "b": [None, None]}}
    assert asked[0][-1] == "https://10.0.0.1:8008/cluster"
    reply = script["database"](report)
    assert reply == {"said": "https://10.0.0.1:8008/cluster: curl: (7) refused", "members": {}}


def test_figures_by_their_first_label(script):
    names = ("Cluster_Workers", "Worker_CapacityTotal", "avadm_objects_user_bytes")
    assert script["series"](PAGE, names) == {
        "Cluster_Workers": {"": 2.0},
        "Worker_CapacityTotal": {"MEM": 1e8, "SSD": 2e8},
        "avadm_objects_user_bytes": {"lab-ai": 17.0},
    }


def test_a_page_of_the_cache_is_summed_and_one_that_is_not_there_says_why(script):
    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(PAGE.encode())

    with http.server.HTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        port = server.server_address[1]
        report = {"address": "127.0.0.1", "cache": {"master_port": port, "worker_port": port}}
        assert script["cache_worker"](report) == {"said": "", "values": {"Worker_CapacityTotal": 3e8}}
        thread.join()
    found = script["cache_master"](report)
    assert (f"127.0.0.1:{port}" in found["said"], found["values"]) == (True, {})


def test_namenodes_are_asked_for_a_connection_and_each_that_gives_none_says_why(script):
    with socket.create_server(("127.0.0.1", 0)) as server:
        there = f"127.0.0.1:{server.getsockname()[1]}"
        report = {"cache": {"hdfs": {"/hdfs": [there, "127.0.0.1:1", "nn..test:8020"]}}}
        found = script["cache_hdfs"](report)["/hdfs"]
    assert found[there] == ""
    assert "refused" in found["127.0.0.1:1"]
    assert found["nn..test:8020"]


def test_namenodes_are_asked_by_masters_and_workers_of_a_site_with_an_hdfs_alone(site):
    assert "cache_hdfs" not in asked(site(LAB_PARTS), "comp1")[0]
    lab = site(LAB_PARTS)
    every = replace(lab, site=lab.site.model_copy(deep=True))
    hdfs = HdfsStore(namenodes=["nn1.test"])
    every.site.components.alluxio.mounts.append(CacheMount(path="/hdfs", hdfs=hdfs))
    found, report = asked(every, "comp1")
    assert "cache_hdfs" in found
    assert report["cache"]["hdfs"] == {"/hdfs": ["nn1.test:8020"]}
    assert "cache_hdfs" not in asked(every, "comp3")[0]


@pytest.fixture
def mounts(script, monkeypatch):
    """Return a function: look at the cache's mount; what is found, and which programs ran."""

    def look(text, *answers):
        reply, ran = iter(answers), []
        monkeypatch.setitem(script, "slurp", lambda path: text)
        monkeypatch.setitem(script, "call", lambda argv, *rest: ran.append(argv[0]) or next(reply))
        found = script["cache_mount"]({"cache": {"mount": "/mnt/alluxio", "folders": ["cephfs", "s3"]}})
        return found, ran

    return look


ROOT = "/dev/sda1 / ext4 rw 0 0\n"
FUSE = ROOT + "alluxio-fuse /mnt/alluxio fuse.alluxio-fuse rw 0 0\n"


def test_a_mount_is_listed_by_names(mounts):
    found, ran = mounts(FUSE, (0, "", ""), (0, "cephfs\nprivate\n", ""))
    assert (found["kind"], found["answers"], found["lacks"]) == ("fuse.alluxio-fuse", True, ["s3"])
    assert "private" not in str(found)
    assert ran == ["stat", "ls"]


def test_a_mount_that_hangs_is_given_up(mounts):
    found, ran = mounts(FUSE, (137, "", ""))
    assert (found["answers"], found["lacks"], found["said"]) == (False, None, "no answer in time")
    assert ran == ["stat"]


def test_a_folder_where_the_mount_should_be_is_not_asked(mounts):
    found, ran = mounts(ROOT)
    assert (found["kind"], ran) == ("", [])


def test_a_program_that_cannot_be_killed_is_left_behind(script, monkeypatch):
    halt = threading.Event()
    monkeypatch.setitem(script, "call", lambda *a: halt.wait(30))
    assert script["within"](["stat", "/x"], -2.9) == (137, "", "")
    halt.set()


@pytest.mark.parametrize(
    ("ended", "status", "message"),
    [
        ((0, "200 0.031", ""), 200, ""),
        ((0, "503 0.1", ""), 503, ""),
        ((60, "000 0.02", "curl: (60) no good\nMore details here"), 0, "curl: (60) no good"),
        ((137, "", ""), 0, "curl ended with 137"),
    ],
)
def test_what_is_answered_over_tls(script, monkeypatch, ended, status, message):
    ran = []
    monkeypatch.setitem(script, "call", lambda argv, seconds: ran.append(argv) or ended)
    found = script["answer"]("10.0.0.9", 7443, "/", "/etc/ca.crt")
    assert (found["status"], found["said"]) == (status, message)
    assert {"--cacert", "/etc/ca.crt", "https://10.0.0.9:7443/"} <= set(ran[0])


def test_without_curl_no_one_knows(script, monkeypatch):
    monkeypatch.setitem(script, "call", lambda *a: (127, "", "timeout: failed to run command 'curl'"))
    with pytest.raises(Exception, match="curl cannot be run"):
        script["answer"]("10.0.0.9", 7443, "/", "/etc/ca.crt")


@pytest.mark.parametrize(
    ("text", "active_s"),
    [("ActiveState=active\nActiveEnterTimestampMonotonic=40000000\n", 60), ("ActiveState=inactive\n", None)],
)
def test_how_long_a_unit_has_run(script, monkeypatch, text, active_s):
    monkeypatch.setitem(script, "must", lambda *a: text)
    monkeypatch.setitem(script, "slurp", lambda path: "100.00 7.0\n")
    assert script["state"]("x.timer")["active_s"] == active_s


def test_figures_and_their_age(script, monkeypatch, tmp_path):
    (tmp_path / "a.prom").write_text(PAGE)
    monkeypatch.setitem(script, "TEXTFILES", str(tmp_path))
    monkeypatch.setitem(script, "state", lambda unit: {"active_s": 5})
    found = script["figures"]("a.prom", "a.timer", ("avadm_objects_user_bytes",))
    assert found["values"] == {"avadm_objects_user_bytes": {"lab-ai": 17.0}}
    assert 0 <= found["age_s"] < 60
    assert script["figures"]("b.prom", "b.timer", ())["age_s"] is None

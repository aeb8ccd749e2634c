"""What AVA's upgrade asks and keeps on masters: processes by their own reports, and manifests whole or not at all."""

import json
import os
from urllib.parse import unquote

import pytest

from avadm_node.probes.ava import manifests, processes
from avadm_node.probes.health import ava as doctor
from avadm_node.probes.health.system import Failed

METRICS = """# HELP ava_build_info 1
# TYPE ava_build_info gauge
ava_build_info{version="0.1.0-0123456789ab"} 1.0
ava_operator_leader{cluster="default"} 1.0
ava_operator_passes_total{cluster="default"} 7.0
ava_operator_passes_created{cluster="default"} 1.7e+09
ava_api_requests_total{method="GET",route="/a b",status="200"} 3.0
"""
GIVEN = {
    "namespace": "ava-system",
    "leases": ["ava-operator"],
    "host": "ava.t.test",
    "address": "10.0.0.9",
    "trusted": None,
    "port": 9090,
    "silent": ["jump"],
    "series": ["ava_operator_leader", "ava_operator_passes_total"],
}


def pod(name, part, *, ready=True, ending=False, image="reg:5000/avadm/ava:0.1.0-aaaaaaaaaaaa"):
    meta = {"name": name, "labels": {"app": "ava", "part": part}}
    if ending:
        meta["deletionTimestamp"] = "2026-11-28T12:00:00Z"
    status = {"conditions": [{"type": "Ready", "status": str(ready)}]}
    return {"metadata": meta, "spec": {"containers": [{"image": image}]}, "status": status}


@pytest.fixture
def api(monkeypatch):
    """Kubernetes that has these objects; what is asked of pods is kept."""

    class Api:
        def __init__(self):
            self.pods = [
                pod("operator-0", "operator"),
                pod("api-0", "api"),
                pod("jump-0", "jump"),
                pod("api-1", "api", ready=False),
                pod("api-2", "api", ending=True),
                pod("migrate-x", "migrate"),
            ]
            self.texts, self.asked = {}, []

        def listed(self, path):
            if "/pods" in path:
                return self.pods
            template = {"spec": {"containers": [{"image": "reg:5000/avadm/ava:0.1.0-aaaaaaaaaaaa"}]}}
            return [{"metadata": {"name": "api"}, "spec": {"replicas": 2, "template": template}}]

        def kubectl(self, *words):
            path = unquote(words[-1])
            self.asked.append(path)
            text = self.texts.get(path.rpartition("/")[2] + " " + path.split("/pods/")[1].split(":")[0])
            if text is None:
                text = METRICS if path.endswith("/metrics") else "ok"
            if isinstance(text, Failed):
                raise text
            return text

    api = Api()
    monkeypatch.setattr(processes, "listed", api.listed)
    monkeypatch.setattr(processes, "kubectl", api.kubectl)
    monkeypatch.setattr(processes, "leases", lambda space, names: {"ava-operator": ["operator-0", 1]})
    monkeypatch.setattr(processes, "way_in", lambda params: {"status": 200, "said": ""})
    return api


def test_each_ready_process_is_asked_for_its_version(api):
    found = processes.ask(GIVEN)
    json.dumps(found)
    rows = {one["name"]: one for one in found["pods"]}
    assert set(rows) == {"operator-0", "api-0", "jump-0", "api-1", "api-2"}
    assert rows["operator-0"]["version"] == "0.1.0-0123456789ab"
    assert rows["operator-0"]["figures"] == {"ava_operator_leader": 1.0, "ava_operator_passes_total": 7.0}
    assert (rows["api-2"]["ending"], rows["api-1"]["ready"]) == (True, False)
    asked = {path.split("/pods/")[1].split(":")[0] for path in api.asked}
    assert asked == {"operator-0", "api-0"}, "not those that are not ready, end, or report nothing"
    assert found["deployed"]["api"] == {"image": "reg:5000/avadm/ava:0.1.0-aaaaaaaaaaaa", "pods": 2}


def test_an_api_without_its_database_says_so(api):
    api.texts["healthz api-0"] = Failed("kubectl: the database does not answer")
    rows = {one["name"]: one for one in processes.ask(GIVEN)["pods"]}
    assert "does not answer" in rows["api-0"]["why"] and rows["operator-0"]["why"] == ""


def test_a_process_of_a_version_before_reports_none():
    assert processes.read("ava_operator_leader 1.0\n", ["ava_operator_leader"]) == (
        "",
        {"ava_operator_leader": 1.0},
    )
    assert processes.read("rubbish\n\nava_build_info 1.0\n", []) == ("", {})


def test_the_doctors_questions_are_used():
    assert processes.__dict__["way_in"] is doctor.way_in


TAG, OTHER = "0.1.0-aaaaaaaaaaaa", "0.1.0-bbbbbbbbbbbb"


def write(folder, *tags, base="kind: ConfigMap\n"):
    folder.mkdir(exist_ok=True)
    images = "".join(f"          image: reg.t.test:5000/avadm/ava:{tag}\n" for tag in tags)
    text = images + "          image: reg.t.test:5000/avadm/ava-base:1-cccccccccccc\n"
    (folder / "ava.yml").write_text(text)
    (folder / "ava-base.yml").write_text(base)


@pytest.fixture
def folders(tmp_path):
    write(tmp_path / "etc", TAG, TAG)
    return {"written": str(tmp_path / "etc"), "kept": str(tmp_path / "kept")}


def test_the_manifests_of_a_version_are_kept_once_and_unchanged(folders, tmp_path):
    assert manifests.ask({}, **folders) == {"written": TAG, "kept": []}
    assert manifests.keep({"tag": TAG}, **folders) == {"kept": True}
    before = (tmp_path / "kept" / TAG / "ava.yml").read_text()
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700
    # A later version is written; the former is what it was.
    write(tmp_path / "etc", OTHER, base="other\n")
    assert manifests.keep({"tag": TAG}, **folders) == {"kept": True}
    assert (tmp_path / "kept" / TAG / "ava.yml").read_text() == before
    assert manifests.ask({}, **folders) == {"written": OTHER, "kept": [TAG]}


@pytest.mark.parametrize("tags", [(OTHER,), (TAG, OTHER), ()])
def test_manifests_of_another_version_or_of_several_are_not_kept(folders, tmp_path, tags):
    write(tmp_path / "etc", *tags)
    assert manifests.keep({"tag": TAG}, **folders) == {"kept": False}
    assert not (tmp_path / "kept").exists()


def test_a_copy_that_was_broken_off_does_not_count(folders, tmp_path):
    for name in (".work", TAG):
        (tmp_path / "kept" / name).mkdir(parents=True)
        (tmp_path / "kept" / name / "ava.yml").write_text("half")
    assert manifests.ask({}, **folders)["kept"] == []
    assert manifests.keep({"tag": TAG}, **folders) == {"kept": True}
    assert (tmp_path / "kept" / TAG / "ava-base.yml").exists()


@pytest.mark.parametrize("tag", ["../x", "a/b", "", ".hidden", "a\n"])
def test_a_tag_is_no_path(folders, tag):
    with pytest.raises(ValueError, match="no tag"):
        manifests.keep({"tag": tag}, **folders)


def test_old_manifests_go_and_the_last_stays_first(folders, tmp_path):
    for number in range(5):
        tag = f"0.1.{number}-aaaaaaaaaaaa"
        write(tmp_path / "etc", tag)
        manifests.keep({"tag": tag}, **folders)
        when = 1_700_000_000 + number
        os.utime(tmp_path / "kept" / tag, (when, when))
    kept = manifests.ask({}, **folders)["kept"]
    assert kept[0].startswith("0.1.4") and len(kept) == 3

"""A hostile user of the platform: other people's things, names of files, links in data sets, odd definitions and lists.

evidence/isolation.md has the table of all that was tried. What a hostile pod tries is in test_isolation.py, what a stolen node
tries in tests/lab/kubernetes/test_stolen_worker.py.
"""

import base64
import json
import time
import uuid

import pytest

from ava.client import ApiError, Client
from tests.lab.ava.conftest import image_of
from tests.lab.ava.raw_door import NO, SECRET
from tests.lab.ava.user_journey import SMALL
from tests.lab.waiting import until

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def anns(people, platform, tmp_path_factory):
    """What ann has: a data set with a file, a stored definition, a run that has printed, and a token."""
    ann = people.ann.ava
    data = ann.make_data_set(f"hers-{uuid.uuid4().hex[:6]}")
    until(lambda: (folder := ann.data_set(data.id).folder) is not None and folder.made, 120)
    letter = tmp_path_factory.mktemp("ann") / "letter.txt"
    letter.write_text(SECRET)
    ann.upload(ann.begin_upload(data.id, letter.name, len(SECRET)), letter)
    spec = {"image": image_of(platform), "command": ["echo", SECRET], "roles": [{"each": SMALL}]}
    run = ann.start("letter", spec)
    until(lambda: ann.run(run.id).state == "succeeded", 180)
    made = ann.define("letter", spec, replace=True)
    token = ann.make_token("own", days=1)
    upload = ann.begin_upload(data.id, "begun.txt", 10)
    return {
        "data": data.id,
        "run": run.id,
        "definition": made.id,
        "token": token.id,
        "upload": upload.rsplit("/", 1)[1],
    }


def test_nothing_of_another_users_can_be_read_or_changed(eve, anns, people):
    ann, api = people.ann.name, "/api/v1"
    run, data, definition = (anns[k] for k in ("run", "data", "definition"))
    for method, path, body in [
        ("GET", f"/runs/{run}", None),
        ("GET", f"/runs/{run}/logs", None),
        ("GET", f"/runs/{run}/logs?follow=true", None),
        ("GET", f"/runs/{run}/pods", None),
        ("GET", f"/runs/{run}/why", None),
        ("GET", f"/runs/{run}/service", None),
        ("POST", f"/runs/{run}/stop", None),
        ("POST", f"/runs/{run}/scale", {"replicas": 5}),
        ("GET", f"/definitions/{definition}", None),
        ("DELETE", f"/definitions/{definition}", None),
        ("POST", f"/definitions/{definition}/runs", {}),
        ("GET", f"/data-sets/{data}", None),
        ("DELETE", f"/data-sets/{data}", None),
        ("POST", f"/data-sets/{data}/shares", {"user": people.eve.name}),
        ("PUT", f"/data-sets/{data}/quota", {"quota": None}),
        ("GET", f"/files/{data}", None),
        ("GET", f"/files/{data}/content?path=letter.txt", None),
        ("DELETE", f"/files/{data}?path=letter.txt", None),
        ("POST", f"/files/{data}/uploads", None),
        ("PATCH", f"/files/uploads/{anns['upload']}", None),
        ("DELETE", f"/files/uploads/{anns['upload']}", None),
        ("DELETE", f"/tokens/{anns['token']}", None),
        ("GET", f"/users/{ann}", None),
        ("PATCH", f"/users/{ann}", {"email": "eve@example.org"}),
        ("PUT", f"/users/{ann}/password", {"new": "a long enough password"}),
        ("PUT", f"/users/{ann}/keys/ssh/own", {"value": "ssh-ed25519 AAAA"}),
        ("POST", f"/users/{ann}/invitation", None),
        ("PUT", f"/groups/{ann}/members/{people.eve.name}", None),
        ("DELETE", f"/groups/{ann}/members/{ann}", None),
        ("PUT", f"/groups/{ann}/quota", {"gpu": 0}),
        ("GET", "/audit", None),
        ("GET", f"/pushed-images?user={ann}", None),
        ("DELETE", f"/pushed-images/users/{ann}/x:1", None),
    ]:
        eve.refused(method, api + path, body)
    assert people.ann.ava.run(run).state == "succeeded"
    assert people.ann.ava.group(ann).quota.gpu == 1


def test_no_one_makes_themselves_an_administrator(eve, people):
    me = people.eve.name
    for method, path, body in [
        ("PATCH", f"/api/v1/users/{me}", {"admin": True}),
        ("PATCH", "/api/v1/users/me", {"admin": True}),
        ("POST", "/api/v1/users", {"name": "mallory", "email": "m@example.org", "admin": True}),
        (
            "POST",
            "/api/v1/registrations",
            {"name": "mallory", "email": "m@example.org", "password": "long enough 1", "admin": True},
        ),
        (
            "POST",
            "/api/v1/registrations",
            {"name": "mallory", "email": "m@example.org", "password": "long enough 1", "state": "active"},
        ),
        ("POST", "/api/v1/groups", {"name": "mallory", "quota": {"gpu": 8}}),
        ("PUT", f"/api/v1/groups/{me}/quota", {"gpu": None, "cpu": None, "memory": None}),
        ("PUT", f"/api/v1/users/{me}/storage", {"quota": None}),
        ("PUT", "/api/v1/queues/default", {"priority": 1000}),
        ("PUT", "/api/v1/pools/all", {"nodes": ["comp1"]}),
        ("POST", "/api/v1/tokens", {"label": "x", "days": 1, "admin": True}),
    ]:
        eve.refused(method, path, body)
    assert not people.admin.user(me).admin
    with pytest.raises(ApiError):
        people.admin.user("mallory")


NAMES = ["../letter.txt", "/etc/passwd", "", "."]
SPELLINGS = ["..%2f..%2fletter.txt", "%2fetc%2fpasswd", "a/%2e%2e/%2e%2e/x", "%00", "x%00.txt"]
"""Of such names, in a query; to send a file under one is to choose a harmless name with percent signs."""


@pytest.mark.parametrize("path", [*NAMES, *SPELLINGS])
def test_no_name_of_a_file_leads_out_of_a_data_set(eve, people, path):
    mine = _data_set(people.eve.ava)
    eve.refused("GET", f"/api/v1/files/{mine}/content?path={path}")
    eve.refused("DELETE", f"/api/v1/files/{mine}?path={path}")


@pytest.mark.parametrize("path", NAMES)
def test_no_file_is_sent_out_of_a_data_set(eve, people, path):
    eve.refused(
        "POST",
        f"/api/v1/files/{_data_set(people.eve.ava)}/uploads",
        Upload_Length="1",
        Upload_Metadata=f"filename {base64.b64encode(path.encode()).decode()}",
        Tus_Resumable="1.0.0",
    )


def test_links_and_odd_files_of_a_run_open_nothing(eve, anns, people, platform):
    """What a run leaves in its own data set is read by the storage service as root: links, pipes, holes."""
    ava, mine = people.eve.ava, _data_set(people.eve.ava)
    name = ava.data_set(mine).name
    links = f"ln -s /etc/passwd a; ln -s / b; ln -s ../../{anns['data']} c; ln -s f f; mkdir g; ln -s .. g/up"
    script = f"set -x; cd /data/{name} && rm -rf *; {links}; mkfifo d; truncate -s 1T e; ls -la; test -L g/up"
    spec = {"image": image_of(platform), "command": ["bash", "-c", script], "roles": [{"each": SMALL}]}
    run = ava.start("links", {**spec, "data_sets": [{"name": name, "write": True}]})
    until(lambda: ava.run(run.id).state in ("succeeded", "failed"), 180)
    assert ava.run(run.id).state == "succeeded", [line.text for line in ava.logs(run.id)]
    began = time.monotonic()
    for path in ("a", "b", "b/etc/passwd", "c", "c/letter.txt", "d", "f", "g", "g/up/a"):
        content = eve.refused("GET", f"/api/v1/files/{mine}/content?path={path}")
        assert b"root:x:0" not in content
    kinds = {f.name: f.kind for f in ava.files(mine)}
    assert kinds["a"] == kinds["b"] == "link"
    assert time.monotonic() - began < 60, "a pipe held it up"


@pytest.mark.parametrize(
    "change",
    [
        {"image": "@../../users/ann/x"},
        {"image": "a\nb"},
        {"roles": [{"each": {"cpu": -1, "memory": 1}}]},
        {"roles": [{"each": SMALL, "replicas": 10**9}]},
        {"roles": [{"each": {"cpu": 1e400, "memory": 1}}]},
        {"roles": [{"each": {**SMALL, "gpu": "٣"}}]},
        {"node": "mast1"},
        {"node": "comp3 --privileged"},
        {"privileged": True},
        {"hostNetwork": True},
        {"volumes": [{"hostPath": "/"}]},
        {"data_sets": [{"name": "../../ann"}]},
        {"env": {"A B": "x"}},
        {"env": {"A": "x" * 2**20}},
        {"group": "ava-system"},
        {"command": ["x\0y"]},
    ],
    ids=lambda change: str(change)[:60],
)
def test_no_definition_asks_for_what_is_not_its_owners(eve, people, platform, change):
    spec = {"image": image_of(platform), "command": ["true"], "roles": [{"each": SMALL}], **change}
    body = json.dumps({"name": "odd", "spec": spec}).replace("Infinity", "1e400")
    eve.refused("POST", "/api/v1/runs", body.encode())


def test_lists_take_no_foreign_place_and_no_language_of_a_database(eve, people, anns):
    place = eve.ask("GET", "/api/v1/runs?limit=1")[2]
    for query in [
        "after=AAAA",
        "after=%27%20OR%201=1--",
        "limit=0",
        "limit=-1",
        "limit=99999999999999999999",
        "state=%27%20OR%20%271%27=%271",
        "owner=%25",
        "sort=password",
        "name[$ne]=x",
        "state=%00",
    ]:
        status, _, content = eve.ask("GET", f"/api/v1/runs?{query}")
        assert status in NO or (status == 200 and anns["run"].encode() not in content), (
            query,
            status,
            content[:200],
        )
    for query in [
        "pod=x%22%20OR%20namespace:%22ava-system",
        "pod=*",
        "pod=..%2f",
        "since=now",
        "tail=100000000",
        "format=html",
    ]:
        eve.refused("GET", f"/api/v1/runs/{anns['run']}/logs?{query}")
    assert place


def _data_set(ava: Client) -> str:
    """Return eve's data set, made once."""
    for one in ava.data_sets():
        if one.name == "hostile":
            return one.id
    made = ava.make_data_set("hostile")
    until(lambda: (folder := ava.data_set(made.id).folder) is not None and folder.made, 120)
    return made.id

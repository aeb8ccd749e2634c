"""Ways into workbenches: tickets, what the gateways get, and that others get nothing."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from ava.api import internal_auth
from ava.api.health import internal
from ava.domain.labels import pod
from ava.domain.model import Outcome, PodState, Quota, Topic, UserState
from ava.domain.workbench import Workbench
from ava.services.config import Workbenches
from tests.unit.ava.api.site import SPEC, Site
from tests.unit.ava.api.test_api_sessions import log_in

GATE, JUMP = "g" * 43, "j" * 43
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJHt8yDhXJ5SPgcEFHwOgSGT0hGFkWi1dJ1rJbBmsCmh"
OTHER = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGDfSP+6teRnkblcN3uWakwaUUe1pk4pdHYMWwQCxz5m"
SECRET = "the browser's own"
STATE = hashlib.sha256(SECRET.encode()).hexdigest()


class Benches(Site):
    """A site with ways into workbenches."""

    def __init__(self, folder: Path) -> None:
        for name, secret in (("gate", GATE), ("jump", JUMP)):
            (folder / name).write_text(f"{secret}\n")
        jump = {"host": "ssh.example.org", "host_key": OTHER}
        config = {"below": "wb.example.org", "site": "https://ava.example.org"}
        config |= {"disks": True, "idle": {"hours": 8, "warn_hours": 2}}
        config |= {"gate_secret": folder / "gate", "jump_secret": folder / "jump", "jump": jump}
        super().__init__(folder, config={"workbenches": Workbenches.model_validate(config)})
        inner = internal(self.db, internal_auth.routes(self.services))
        self.inner = httpx.AsyncClient(transport=httpx.ASGITransport(app=inner), base_url="http://told")

    def make(self, who: str = "ann", name: str = "bench", **more: Any) -> str:
        """Return the id of a new workbench."""
        spec = SPEC | {"kind": "workbench"} | more
        made = self.call("POST", "/definitions", who, json={"name": name, "spec": spec})
        return str(made.json()["id"])

    def start(self, bench: str, who: str = "ann", address: str = "10.1.2.3") -> str:
        """Do what user, scheduler and operator do; return the run."""
        run = str(self.call("POST", f"/definitions/{bench}/runs", who, json={}).json()["id"])
        assert not self.db.runs.admit(run, self.now)
        token = self.services.sealer.seal("jupyters")
        self.db.workbenches.create(Workbench(bench, "sealed", OTHER, token, self.now))
        seen = PodState(run, pod(run, 0, "worker", 0), "worker", 0, 0, "Running", address=address)
        self.db.pods.record(run, [seen], self.now)
        return run

    def ask(self, what: str, by: str = GATE, /, **body: Any) -> httpx.Response:
        headers = {"authorization": f"Bearer {by}"}
        return self.loop.run_until_complete(self.inner.post(f"/door/{what}", json=body, headers=headers))

    def ticket(self, session: dict[str, str], bench: str, state: str = STATE) -> str:
        answer = self.call("GET", f"/workbenches/{bench}/open?state={state}", headers=session)
        assert answer.status_code == 303, answer.text
        address, _, ticket = answer.headers["location"].partition("?ticket=")
        assert address == f"https://{bench}.wb.example.org/.ava/enter"
        return str(ticket)

    def cookie(self, session: dict[str, str], bench: str) -> str:
        got = self.ask("enter", definition=bench, ticket=self.ticket(session, bench), secret=SECRET)
        assert got.status_code == 200
        return str(got.json()["cookie"])


@pytest.fixture
def benches(tmp_path: Path) -> Iterator[Benches]:
    made = Benches(tmp_path)
    yield made
    made.close()


def test_a_ticket_lets_its_browser_into_one_workbench_while_it_runs(benches: Benches) -> None:
    bench, session = benches.make(), log_in(benches)
    cookie = benches.cookie(session, bench)
    assert benches.ask("check", definition=bench, cookie=cookie).status_code == 409, "it does not run"
    run = benches.start(bench)
    report = benches.ask("check", definition=bench, cookie=cookie)
    assert report.json() == {
        "user": "ann",
        "run": run,
        "address": "10.1.2.3",
        "port": 8888,
        "token": "jupyters",
    }
    assert benches.ask("alive", cookies=[cookie, "x"]).json() == {"alive": [True, False]}
    benches.db.runs.stop(run, benches.now, by="ann")
    assert benches.ask("check", definition=bench, cookie=cookie).status_code == 409
    assert benches.ask("alive", cookies=[cookie]).json() == {"alive": [False]}


def test_a_ticket_is_good_for_a_minute_in_its_own_browser(
    benches: Benches, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, other, session = benches.make(), benches.make(name="other"), log_in(benches)
    ticket = benches.ticket(session, bench)
    for wrong in (
        {"definition": bench, "ticket": ticket, "secret": "another browser's"},
        {"definition": other, "ticket": ticket, "secret": SECRET},
        {"definition": bench, "ticket": ticket[:-1], "secret": SECRET},
        {"definition": bench, "ticket": benches.cookie(session, bench), "secret": SECRET},
    ):
        assert benches.ask("enter", **wrong).status_code == 403, wrong
    assert benches.ask("check", definition=bench, cookie=ticket).status_code == 403, "a ticket is no cookie"
    later = time.time() + 62
    monkeypatch.setattr("time.time", lambda: later)
    assert benches.ask("enter", definition=bench, ticket=ticket, secret=SECRET).status_code == 403


def test_with_the_session_its_way_into_workbenches_ends(benches: Benches) -> None:
    bench = benches.make()
    benches.start(bench)
    first, second = log_in(benches), log_in(benches)
    cookies = [benches.cookie(first, bench), benches.cookie(second, bench)]
    assert benches.ask("alive", cookies=cookies).json() == {"alive": [True, True]}
    benches.call("DELETE", "/sessions/current", headers=first)
    assert benches.ask("alive", cookies=cookies).json() == {"alive": [False, True]}
    assert benches.ask("check", definition=bench, cookie=cookies[0]).status_code == 401
    assert benches.ask("check", definition=bench, cookie=cookies[1]).status_code == 200
    benches.now += timedelta(hours=13)
    assert benches.ask("check", definition=bench, cookie=cookies[1]).status_code == 401, "it has grown old"


def test_who_is_shut_out_or_whose_workbench_is_deleted_is_let_in_no_more(benches: Benches) -> None:
    bench, session = benches.make(), log_in(benches)
    run = benches.start(bench)
    cookie = benches.cookie(session, bench)
    benches.db.users.update("ann", benches.now, state=UserState.DISABLED)
    assert benches.ask("check", definition=bench, cookie=cookie).status_code == 401
    assert benches.ask("alive", cookies=[cookie]).json() == {"alive": [False]}
    assert benches.ask("keys", JUMP, key=KEY).text == ""
    benches.db.users.update("ann", benches.now, state=UserState.ACTIVE)
    cookie = benches.cookie(log_in(benches), bench)
    assert benches.ask("check", definition=bench, cookie=cookie).status_code == 200
    benches.db.runs.stop(run, benches.now, by="ann")
    benches.db.runs.finish(run, Outcome.STOPPED, "", benches.now)
    benches.db.definitions.delete(bench, benches.now)
    assert benches.ask("check", definition=bench, cookie=cookie).status_code == 404


def test_another_user_s_workbench_gives_no_ticket_and_takes_no_cookie(benches: Benches) -> None:
    anns, bens = benches.make(), benches.make("ben")
    benches.start(anns)
    ben = log_in(benches, "ben")
    refused = benches.call("GET", f"/workbenches/{anns}/open?state={STATE}", headers=ben)
    assert refused.status_code == 404
    cookie = benches.cookie(ben, bens)
    assert benches.ask("check", definition=anns, cookie=cookie).status_code == 403
    admin = log_in(benches, "root2")
    assert benches.call("GET", f"/workbenches/{anns}/open?state={STATE}", headers=admin).status_code == 403


def test_a_session_whose_id_was_changed_in_its_cookie_is_still_the_same_one(benches: Benches) -> None:
    bench = benches.make()
    benches.start(bench)
    first, second = log_in(benches), log_in(benches)
    id = second["cookie"].partition("=")[2].partition(".")[0]
    forged = {"cookie": f"__Host-ava={id}.{first['cookie'].partition('.')[2]}"}
    cookie = benches.cookie(forged, bench)
    benches.call("DELETE", "/sessions/current", headers=first)
    assert benches.ask("check", definition=bench, cookie=cookie).status_code == 401


def test_a_browser_that_is_not_logged_in_is_sent_to_the_login_and_back(benches: Benches) -> None:
    bench = benches.make()
    path = f"/api/v1/workbenches/{bench}/open?state={STATE}"
    answer = benches.call("GET", path, headers={"accept": "text/html"})
    assert answer.status_code == 303
    assert httpx.URL(answer.headers["location"]).params["next"] == path
    assert answer.headers["location"].startswith("/login?")


def test_the_gateway_is_reported_the_names_of_ones_own_running_workbenches_alone(benches: Benches) -> None:
    first, second, bens = benches.make(), benches.make(name="second"), benches.make("ben")
    for who, line in (("ann", KEY), ("ben", OTHER)):
        benches.call("PUT", "/keys/ssh/laptop", who, json={"value": line})
    assert benches.ask("keys", JUMP, key=KEY).text == "", "nothing runs"
    benches.start(first)
    benches.start(bens, "ben")
    name = f'permitopen="wb-{first}.ava-vision.svc.cluster.local:22"'
    assert benches.ask("keys", JUMP, key=KEY).text == f"restrict,port-forwarding,{name} {KEY}\n"
    run = benches.start(second)
    assert benches.ask("keys", JUMP, key=KEY).text.count("permitopen=") == 2
    assert bens not in benches.ask("keys", JUMP, key=KEY).text
    benches.db.runs.stop(run, benches.now, by="ann")
    assert benches.ask("keys", JUMP, key=f"{KEY} comment").text.count("permitopen=") == 1
    benches.call("DELETE", "/keys/ssh/laptop", "ann")
    assert benches.ask("keys", JUMP, key=KEY).text == ""


@pytest.mark.parametrize(
    "key", ["", "ssh-ed25519", "x" * 9000, f"no-pty {KEY}", f"{KEY}\n{OTHER}", "ssh-rsa AAAA"]
)
def test_what_is_no_key_gets_nothing(benches: Benches, key: str) -> None:
    benches.call("PUT", "/keys/ssh/laptop", "ann", json={"value": KEY})
    benches.start(benches.make())
    assert benches.ask("keys", JUMP, key=key).text == ""


def test_each_door_opens_by_its_own_secret_alone(benches: Benches) -> None:
    for what, secret in (
        ("keys", GATE),
        ("check", JUMP),
        ("enter", JUMP),
        ("alive", JUMP),
        ("check", ""),
        ("keys", "x"),
    ):
        assert benches.ask(what, secret, key=KEY).status_code == 401, what
    assert benches.ask("check", definition="x").status_code == 422
    assert benches.ask("keys", JUMP, key="x" * 2**21).status_code == 413


def test_a_changed_key_tells_the_operator_of_each_workbench_that_runs(benches: Benches) -> None:
    run = benches.start(benches.make())
    benches.make(name="other")
    before = {m.seq for m in benches.db.outbox.list_open(Topic.OPERATOR, 1000)}
    benches.call("PUT", "/keys/ssh/laptop", "ann", json={"value": KEY})
    benches.call("DELETE", "/keys/ssh/laptop", "ann")
    benches.call("PUT", "/keys/ssh/laptop", "ben", json={"value": KEY})
    found = [m for m in benches.db.outbox.list_open(Topic.OPERATOR, 1000) if m.seq not in before]
    assert [(m.kind, m.object) for m in found] == [("run-keys", run)] * 2


def test_a_workbench_shows_how_to_get_in(benches: Benches) -> None:
    bench = benches.make()
    assert benches.call("GET", f"/workbenches/{bench}", "ann").json()["state"] == "new"
    run = benches.start(bench)
    shown = benches.call("GET", "/workbenches", "ann").json()["items"][0]
    assert (shown["id"], shown["run"], shown["url"]) == (bench, run, f"https://{bench}.wb.example.org/")
    assert shown["ssh"]["host_key"] == OTHER
    assert shown["ssh"]["jump_host"] == "ssh.example.org"
    assert "jupyters" not in str(shown)


def test_what_a_workbench_keeps_is_made_once(benches: Benches) -> None:
    bench = benches.make()
    first = benches.db.workbenches.create(Workbench(bench, "a", "b", "c", benches.now))
    assert benches.db.workbenches.create(Workbench(bench, "x", "y", "z", benches.now)) == first
    benches.db.workbenches.record_activity(bench, benches.now)
    benches.db.workbenches.record_activity(bench, benches.now - timedelta(hours=1))
    kept = benches.db.workbenches.get(bench)
    assert kept is not None
    assert kept.active == benches.now


GIB = 2**30


def test_a_disk_is_asked_for_grown_and_shown_and_is_no_other_user_s(benches: Benches) -> None:
    benches.db.groups.set_quota("vision", Quota(8, 64_000, 2**40, disk=10 * GIB), benches.now)
    bench = benches.make(disk=4 * GIB)
    path = f"/workbenches/{bench}"
    assert benches.call("GET", path, "ann").json()["disk"] == {
        "size": 0,
        "wanted": 4 * GIB,
        "node": "",
        "trouble": "",
    }
    benches.start(bench)
    benches.db.disks.record(bench, "w1", 4 * GIB, "")
    grown = benches.call("PUT", f"{path}/disk", "ann", json={"size": 6 * GIB}).json()
    assert grown["disk"] == {"size": 4 * GIB, "wanted": 6 * GIB, "node": "w1", "trouble": ""}
    shrunk = benches.call("PUT", f"{path}/disk", "ann", json={"size": 3 * GIB})
    assert shrunk.status_code == 422
    (problem,) = shrunk.json()["problems"]
    assert problem["code"] == "disk-shrinks"
    assert all(problem[key] for key in ("what", "where", "found", "wanted", "remedy"))
    assert benches.call("PUT", f"{path}/disk", "ann", json={"size": 11 * GIB}).status_code == 409
    assert benches.call("PUT", f"{path}/disk", "ben", json={"size": 7 * GIB}).status_code == 404
    assert benches.call("PUT", f"{path}/disk", "root2", json={"size": 7 * GIB}).status_code == 403
    for size in (0, -1, 2**62, GIB + 1, "5GiB", None):
        assert benches.call("PUT", f"{path}/disk", "ann", json={"size": size}).status_code == 422


def test_an_administrator_alone_keeps_a_workbench_that_is_idle(benches: Benches) -> None:
    bench = benches.make()
    run = benches.start(bench)
    assert benches.db.workbenches.warn(run, benches.now, benches.now)
    path = f"/workbenches/{bench}"
    shown = benches.call("GET", path, "ann").json()
    assert datetime.fromisoformat(shown["idle_until"]) == benches.now + timedelta(hours=2)
    assert benches.call("PUT", f"{path}/idle", "ann", json={"exempt": True}).status_code == 403
    kept = benches.call("PUT", f"{path}/idle", "root2", json={"exempt": True}).json()
    assert (kept["idle_exempt"], kept["idle_until"]) == (True, None)
    assert benches.db.workbenches.idle_candidates("default") == []
    again = benches.call("PUT", f"{path}/idle", "root2", json={"exempt": False}).json()
    assert again["idle_exempt"] is False
    assert [r.id for r, _ in benches.db.workbenches.idle_candidates("default")] == [run]

"""The typed client against a real server: what it sends is taken, errors are problems, retries make nothing twice."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from ava.client import ApiError, Client, Unreachable, runs
from ava.client.runs import CUTS, LONGEST_PAUSE
from ava.client.transport import http_client
from ava.domain.spec import Amount, Role, Spec
from ava.services.logs.combined import CombinedLogs
from ava.services.logs.interface import LogLine, NoLogs
from ava.services.logs.live import LiveLogs
from tests.unit.ava.api.site import NOW, SPEC, WORD
from tests.unit.ava.served import Served

NANO = int(NOW.timestamp()) * 10**9


@pytest.fixture
def ann(served: Served) -> Any:
    with Client(served.url, token=served.token("ann")) as made:
        yield made


def test_login_leaves_one_token_and_no_session_and_log_out_ends_it(served: Served) -> None:
    with Client(served.url) as ava:
        token = ava.login("ann", WORD, label="test")
        assert ava.me().name == "ann"
        assert served.db.secrets.list("ann", "session") == []
        assert [s["label"] for s in served.db.secrets.list("ann", "token")] == ["test"]
        ava.logout()
    with Client(served.url, token=token) as ava, pytest.raises(ApiError) as caught:
        ava.me()
    assert caught.value.status == 401


def test_a_wrong_password_is_refused_with_its_problem(served: Served) -> None:
    with Client(served.url) as ava, pytest.raises(ApiError) as caught:
        ava.login("ann", "wrong wrong wrong")
    assert (caught.value.status, caught.value.problems[0].code) == (401, "login-refused")


def test_a_training_is_started_shown_explained_and_stopped(served: Served, ann: Client) -> None:
    spec = Spec(image="a/b:1", command=("python",), roles=(Role(each=Amount(gpu=2)),))
    run = ann.start("mnist", spec)
    assert (run.state, run.group, run.asks.gpu) == ("queued", "vision", 2)
    assert [r.id for r in ann.runs(phase="queued")] == [run.id]
    assert ann.why(run.id).position == 0
    served.admit(run.id)
    assert ann.run(run.id).state == "running"
    assert [p.phase for p in ann.pods(run.id)] == ["Running"]
    assert ann.group("vision").used.gpu == 2
    assert ann.stop(run.id).state == "stopping"
    served.finish(run.id)
    assert ann.run(run.id).finished is not None


def test_a_run_is_watched_by_one_request_for_each_change(
    served: Served, ann: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    send = ann._send.send

    def counted(method: str, path: str, **more: Any) -> httpx.Response:
        asked.append(more["params"])
        return send(method, path, **more)

    monkeypatch.setattr(ann._send, "send", counted)
    run = served.run()["id"]
    served.db.heartbeats.record("operator", served.now, {})
    seen = ann.watch(run)
    assert next(seen).state == "queued"
    timer = threading.Timer(3.0, served.admit, [run])
    timer.start()
    assert next(run for run in seen if run.state != "starting").state == "running"
    timer.join()
    # One before the change, and one for each of its steps.
    assert asked[0] is None
    assert 2 <= len(asked) <= 5
    assert {str(more) for more in asked[1:]} == {"{'wait': 25}"}


def test_all_pages_come_one_after_the_other(served: Served, ann: Client) -> None:
    made = [served.run(name=f"r{i}")["id"] for i in range(7)]
    wanted = made[::-1]
    whole = ann._page
    sizes: list[int] = []

    def small(shape: Any, path: str, params: Any) -> Any:
        sizes.append(params["limit"])
        return whole(shape, path, {**params, "limit": min(params["limit"], 3)})

    ann._page = small  # type: ignore[method-assign]
    assert [r.id for r in ann.runs()] == wanted
    assert len(sizes) == 3
    assert [r.id for r in ann.runs(most=5)] == wanted[:5]


def test_the_same_key_makes_one_run_and_another_request_with_it_is_refused(
    served: Served, ann: Client
) -> None:
    first = ann.start("mnist", SPEC, key="k1")
    assert ann.start("mnist", SPEC, key="k1").id == first.id
    with pytest.raises(ApiError) as caught:
        ann.start("mnist", SPEC | {"retries": 1}, key="k1")
    assert (caught.value.status, caught.value.problems[0].code) == (409, "idempotency-key-reused")
    assert len(served.db.runs.list().items) == 1
    assert served.db.definitions.list().items[0].spec["retries"] == 0, "the definition is as it was"


class Flaky(httpx.BaseTransport):
    """Sends each request, and loses the first answers."""

    def __init__(self, losses: int) -> None:
        self.inner, self.losses, self.sent = httpx.HTTPTransport(), losses, 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.sent += 1
        answer = self.inner.handle_request(request)
        answer.read()
        if self.losses:
            self.losses -= 1
            raise httpx.ReadError("connection reset")
        return answer


def test_a_lost_answer_makes_no_second_run(served: Served) -> None:
    flaky = Flaky(losses=2)
    with Client(
        served.url, token=served.token("ann"), http=httpx.Client(base_url=served.url, transport=flaky)
    ) as ava:
        run = ava.start("mnist", SPEC)
    assert flaky.sent == 3
    assert [r.id for r in served.db.runs.list().items] == [run.id]


def test_what_may_not_be_sent_twice_is_not(served: Served) -> None:
    flaky = Flaky(losses=1)
    http = httpx.Client(base_url=served.url, transport=flaky)
    with Client(served.url, token=served.token("ann"), http=http) as ava, pytest.raises(Unreachable):
        ava.make_token("x")
    assert flaky.sent == 1


def test_a_refusal_is_not_tried_again(served: Served) -> None:
    flaky = Flaky(losses=0)
    http = httpx.Client(base_url=served.url, transport=flaky)
    with Client(served.url, token=served.token("ann"), http=http) as ava, pytest.raises(ApiError) as caught:
        ava.start("mnist", SPEC | {"queue": "vip"})
    assert flaky.sent == 1
    assert caught.value.problems[0].where == "body.spec.queue"


def test_a_server_that_is_away_is_named() -> None:
    with Client("http://127.0.0.1:9", token="x") as ava, pytest.raises(Unreachable) as caught:
        ava.make_token()
    assert "127.0.0.1:9" in caught.value.problems[0].where


def test_an_answer_of_something_else_is_named_as_such() -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(502, text="<html>Bad gateway"))
    http = httpx.Client(base_url="https://ava.test", transport=transport)
    with Client("https://ava.test", http=http) as ava, pytest.raises(ApiError) as caught:
        ava.run("r1")
    assert (caught.value.status, caught.value.problems[0].code) == (502, "no-problem-document")


def test_an_upload_waits_for_the_folder_of_a_new_data_set(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("tenacity.nap.time.sleep", waits.append)
    problem = {
        "problems": [{"code": "folder-not-made", "what": "It has not been made yet.", "where": "data set"}]
    }
    early = httpx.Response(503, json=problem, headers={"retry-after": "2"})
    answers = [early, early, httpx.Response(201, headers={"location": "/api/v1/files/uploads/u1"})]
    transport = httpx.MockTransport(lambda request: answers.pop(0))
    http = httpx.Client(base_url="https://ava.test", transport=transport)
    with Client("https://ava.test", http=http) as ava:
        assert ava.begin_upload("f1", "x", 3) == "/files/uploads/u1"
    assert min(waits) >= 2


@pytest.mark.parametrize(
    "server", ["http://ava.example.org", "ftp://x", "ava.example.org", "https://u:p@x", "https://x/y"]
)
def test_only_encrypted_addresses_without_secrets_are_taken(server: str) -> None:
    with pytest.raises(ApiError) as caught:
        http_client(server)
    assert caught.value.problems[0].code == "server-invalid"


def test_a_log_is_read_and_followed_to_the_end(served: Served, ann: Client) -> None:
    run = ann.start("mnist", SPEC)
    served.admit(run.id)
    name = ann.pods(run.id)[0].name
    served.logs.lines = [LogLine(NANO + i, name, f"old {i}") for i in range(3)]
    assert [x.text for x in ann.logs(run.id, tail=2)] == ["old 1", "old 2"]
    served.logs.later = [LogLine(NANO + 10**9, name, "new")]
    threading.Timer(0.5, served.finish, [run.id]).start()
    assert [x.text for x in ann.follow(run.id, tail=1)] == ["old 2", "new"]


def test_a_line_with_other_separators_than_a_line_feed_is_one(served: Served, ann: Client) -> None:
    run = ann.start("mnist", SPEC)
    served.admit(run.id)
    name = ann.pods(run.id)[0].name
    text = "a\N{LINE SEPARATOR}b\N{PARAGRAPH SEPARATOR}c\x85d\x0be\x0cf\x1cg\rh"
    served.logs.lines = [LogLine(NANO + n * 1000, name, reply) for n, reply in enumerate((text, "", "x"))]
    assert [x.text for x in ann.logs(run.id)] == [text, "", "x"]
    served.logs.later = [LogLine(NANO + 10**9, name, text)]
    threading.Timer(0.5, served.finish, [run.id]).start()
    assert [x.text for x in ann.follow(run.id, tail=2)] == ["", "x", text]


def test_a_stream_ends_soon_after_its_reader_is_shut_out(served: Served, ann: Client) -> None:
    run = ann.start("mnist", SPEC)
    served.admit(run.id)
    threading.Timer(
        0.3, lambda: served.db.secrets.delete("ann", served.db.secrets.list("ann", "token")[0]["id"])
    ).start()
    begun = time.monotonic()
    with pytest.raises(ApiError) as caught:
        list(ann.follow(run.id))
    assert caught.value.status == 401
    assert time.monotonic() - begun < 20


def test_a_log_whose_source_stays_away_is_asked_for_again_and_then_given_up(
    served: Served, ann: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ann.start("mnist", SPEC)
    served.admit(run.id)
    pauses: list[float] = []
    monkeypatch.setattr(runs, "time", SimpleNamespace(sleep=pauses.append))
    served.services.logs = CombinedLogs(LiveLogs({}), NoLogs())
    with pytest.raises(ApiError) as caught:
        list(ann.follow(run.id))
    (problem,) = caught.value.problems
    assert (problem.code, problem.where) == ("log-interrupted", f"log of run {run.id}")
    assert "no source of logs" in problem.found and f"ava logs -f {run.id}" in problem.remedy
    assert len(pauses) == CUTS and max(pauses) == LONGEST_PAUSE


def test_usage_comes_as_rows_and_as_csv(served: Served, ann: Client) -> None:
    run = ann.start("mnist", SPEC | {"roles": [{"each": {"gpu": 2}}]})
    served.admit(run.id)
    served.now += timedelta(hours=3)
    served.finish(run.id)
    rows = ann.usage(month="2026-11").rows
    assert [(r.user, r.group, r.runs, r.gpu_hours) for r in rows] == [("ann", "vision", 1, 6.0)]
    lines = ann.usage_csv(month="2026-11").split("\r\n")
    assert lines[0].startswith("since,until,user,group,runs,gpu_hours")
    assert ",ann,vision,1,6.0,3.0,3.0" in lines[1]


def test_an_administrator_does_the_administration(served: Served) -> None:
    with Client(served.url) as anonymous:
        anonymous.register("newcomer", "n@example.org", WORD)
    with Client(served.url, token=served.token("root2")) as root:
        assert [u.name for u in root.users(state="pending")] == ["newcomer"]
        assert root.approve("newcomer").state == "active"
        quota = {"gpu": 2, "cpu": 8000, "memory": 2**34, "storage": None}
        assert root.make_group("speech", quota).id == root.make_group("speech", quota).id
        root.add_member("speech", "newcomer")
        assert [m.name for m in root.members("speech")] == ["newcomer"]
        assert root.set_quota("speech", quota | {"gpu": 3}).quota.gpu == 3
        assert root.put_queue("day", priority=7).priority == 7
        assert root.put_pool("fast", gpu=True, selector={"a": "b"}).selector == {"a": "b"}
        root.remove_member("speech", "newcomer")
        root.delete_group("speech")
        actions = [line.action for line in root.audit(most=3)]
        assert actions == ["groups.delete", "groups.leave", "pools.put"]

"""Notices reach their owner by a real SMTP server and the site's webhook, once each, and are kept while those are away."""

import asyncio
import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy

from aiohttp import web
from aiosmtpd.controller import Controller

from ava.domain.model import Kind, Outcome, Topic, UserState
from ava.domain.workbench import Workbench
from ava.operator.config import Notices
from ava.operator.db_executor import DbExecutor
from ava.operator.metrics import Metrics
from ava.operator.notifications import Notifier
from tests.platform.apiserver import free_port
from tests.unit.ava.operator.fake_cluster import furnish, start


class Box:
    """Takes mails; refuses them with ``answer`` where set."""

    def __init__(self):
        self.mails, self.answer = [], ""

    async def handle_DATA(self, server, session, envelope):
        if self.answer:
            return self.answer
        self.mails.append(envelope)
        return "250 OK"


def deliver(db, test, *, hook=True, tmp_path=None):
    furnish(db)
    box, posts, status = Box(), [], [200]
    smtp = Controller(box, hostname="127.0.0.1", port=free_port())
    smtp.start()

    async def take(request):
        if status[0] == 200:
            posts.append((await request.read(), request.headers))
        return web.Response(status=status[0])

    async def go():
        app = web.Application()
        app.router.add_post("/hook", take)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        report = {
            "mail": {"host": "127.0.0.1", "port": smtp.port, "sender": "ava@example.org", "tls": "none"}
        }
        if hook:
            (tmp_path / "secret").write_text("s3cret\n")
            report["webhook"] = {
                "url": f"http://127.0.0.1:{runner.addresses[0][1]}/hook",
                "secret_file": str(tmp_path / "secret"),
            }
        threads = DbExecutor(2)
        courier = Notifier(db, threads, Notices.model_validate(report), Metrics("default"))
        try:
            await test(courier, box, posts, status)
        finally:
            threads.close()
            await runner.cleanup()

    try:
        asyncio.run(go())
    finally:
        smtp.stop()


def now():
    return datetime.now(UTC)


def end(db, name="train"):
    run = start(db, name=name)
    return db.runs.finish(run.id, Outcome.FAILED, "Pod worker 0: it used more memory than its limit.", now())


def test_the_owner_hears_once_by_each_way(db, tmp_path):
    async def test(courier, box, posts, status):
        run = end(db)
        assert await courier.deliver(now()) == 0
        assert await courier.deliver(now()) == 0
        assert len(box.mails) == len(posts) == 1
        text = box.mails[0].content.decode()
        assert box.mails[0].rcpt_tos == ["ann@example.org"]
        assert "Subject: training train: failed" in text
        assert "more memory than its limit" in text
        raw, headers = posts[0]
        assert json.loads(raw)["run"] == run.id
        assert headers["X-AVA-Signature"] == "sha256=" + hmac.new(b"s3cret", raw, hashlib.sha256).hexdigest()

    deliver(db, test, tmp_path=tmp_path)


def test_what_one_way_does_not_take_is_tried_again_by_that_way_alone(db, tmp_path):
    async def test(courier, box, posts, status):
        end(db)
        status[0] = 503
        assert await courier.deliver(now()) == 1
        assert (len(box.mails), len(posts)) == (1, 0)
        status[0] = 200
        assert await courier.deliver(now()) == 0
        assert (len(box.mails), len(posts)) == (1, 1)

    deliver(db, test, tmp_path=tmp_path)


def test_a_notice_that_no_one_takes_is_dropped_after_a_day(db):
    async def test(courier, box, posts, status):
        end(db)
        box.answer = "451 later"
        assert await courier.deliver(now()) == 1
        await courier.deliver(now() + timedelta(hours=25))
        assert list(db.outbox.list_open(Topic.NOTICE)) == []
        assert box.mails == []

    deliver(db, test, hook=False)


def test_what_is_older_than_a_day_is_not_reported_and_does_not_pile_up(db, tmp_path):
    """A site that begins to send notices has had runs before."""

    async def test(courier, box, posts, status):
        end(db, "old")
        later = now() + timedelta(hours=25)
        assert await courier.deliver(later) == 0
        assert (box.mails, posts) == ([], [])
        assert list(db.outbox.list_open(Topic.NOTICE)) == []
        end(db, "new")
        assert await courier.deliver(now()) == 0
        assert len(box.mails) == len(posts) == 1

    deliver(db, test, tmp_path=tmp_path)


def test_an_operator_without_notices_closes_what_is_too_old_and_leaves_the_rest_to_others(db, monkeypatch):
    furnish(db)
    end(db)
    monkeypatch.setattr("ava.operator.notifications.SELDOM", 0.01)

    async def go(later):
        threads = DbExecutor(1)
        monkeypatch.setattr("ava.operator.notifications.utc", lambda: now() + later)
        work = asyncio.create_task(Notifier(db, threads, Notices(), Metrics("default")).run())
        await asyncio.sleep(0.3)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        threads.close()
        return [m.kind for m in db.outbox.list_open(Topic.NOTICE)]

    assert "run-finished" in asyncio.run(go(timedelta(hours=23)))
    assert asyncio.run(go(timedelta(hours=25))) == []


def test_a_name_cannot_write_headers(db):
    async def test(courier, box, posts, status):
        end(db, "a" * 200)
        assert await courier.deliver(now()) == 0
        assert b"\nBcc:" not in box.mails[0].content

    deliver(db, test, hook=False)


def test_the_owner_of_an_idle_workbench_hears_when_it_is_stopped(db, tmp_path):
    async def test(courier, box, posts, status):
        run = start(db, kind=Kind.WORKBENCH, name="bench")
        db.workbenches.create(Workbench(run.definition, "sealed", "public", "sealed", now()))
        until = now() + timedelta(hours=2)
        assert db.workbenches.warn(run.id, now(), until)
        assert await courier.deliver(now()) == 0
        reply = json.loads(posts[0][0])
        assert (reply["kind"], reply["outcome"]) == ("bench-idle", None)
        assert until.isoformat() in reply["reason"]
        assert "Subject: workbench bench: idle" in box.mails[0].content.decode()

    deliver(db, test, tmp_path=tmp_path)


def test_no_notice_goes_to_an_address_that_is_not_confirmed_and_none_waits_for_it(db, tmp_path):
    async def test(courier, box, posts, status):
        db.users.update("ann", now(), email="stranger@example.org")
        end(db, "first")
        status[0] = 503
        assert await courier.deliver(now()) == 1
        status[0] = 200
        assert await courier.deliver(now()) == 0
        assert (box.mails, len(posts)) == ([], 1), "the webhook, which names no address, has it"
        assert list(db.outbox.list_open(Topic.NOTICE)) == []
        assert courier.metrics.notices_unconfirmed._value.get() == 1
        db.users.confirm_email("ann", "stranger@example.org", now())
        end(db, "second")
        assert await courier.deliver(now()) == 0
        assert [mail.rcpt_tos for mail in box.mails] == [["stranger@example.org"]]

    deliver(db, test, tmp_path=tmp_path)


def test_a_link_goes_by_mail_alone_to_the_address_that_waits_for_it(db, tmp_path):
    async def test(courier, box, posts, status):
        db.users.update("ann", now(), email="new@example.org")
        link = "https://ava.example.org/confirm-email?confirmation=x"
        db.users.ask_confirmation("ann", "new@example.org", link, now())
        assert await courier.deliver(now()) == 0
        assert ([mail.rcpt_tos for mail in box.mails], posts) == ([["new@example.org"]], [])
        letter = message_from_bytes(box.mails[0].content, policy=policy.default)
        assert link in letter.get_content() and "ann" in letter.get_content()
        db.users.ask_confirmation("ann", "old@example.org", link, now())
        db.users.ask_confirmation("ann", "new@example.org", link, now())
        db.users.confirm_email("ann", "new@example.org", now())
        assert await courier.deliver(now()) == 0
        db.users.update("ann", now(), email="third@example.org")
        db.users.create("root2", "root2@example.org", "hash", now(), admin=True, state=UserState.ACTIVE)
        db.users.update("ann", now(), state=UserState.DISABLED)
        db.users.ask_confirmation("ann", "third@example.org", link, now())
        assert await courier.deliver(now()) == 0
        assert len(box.mails) == 1, "another address, a confirmed one, a disabled account"
        assert list(db.outbox.list_open(Topic.NOTICE)) == []

    deliver(db, test, tmp_path=tmp_path)

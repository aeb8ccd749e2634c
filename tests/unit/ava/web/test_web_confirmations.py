"""From the registration with a stranger's address to the first notice: what reaches a real SMTP server on the way."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from typing import Any

import pytest
from aiosmtpd.controller import Controller

from ava.domain.model import Outcome
from ava.operator.config import Notices
from ava.operator.db_executor import DbExecutor
from ava.operator.metrics import Metrics
from ava.operator.notifications import Notifier
from tests.platform.apiserver import free_port
from tests.unit.ava.api.site import WORD, Site
from tests.unit.ava.web.browser import Browser

MAIL = {"email_confirmation": {"address": "https://ava.test"}}


class Post:
    """The site's mail server, and the operator that hands it mails."""

    def __init__(self, site: Site) -> None:
        self.site, self.mails = site, list[tuple[list[str], str]]()
        self.smtp = Controller(self, hostname="127.0.0.1", port=free_port())

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        text = message_from_bytes(envelope.content, policy=policy.default).get_content()
        self.mails.append((envelope.rcpt_tos, text))
        return "250 OK"

    def deliver(self) -> list[tuple[list[str], str]]:
        """Return the mails that are sent now: to whom, and their text."""
        mail = {"host": "127.0.0.1", "port": self.smtp.port, "sender": "ava@example.org", "tls": "none"}
        before, threads = len(self.mails), DbExecutor(1)
        courier = Notifier(self.site.db, threads, Notices.model_validate({"mail": mail}), Metrics("default"))
        try:
            assert asyncio.run(courier.deliver(self.site.now)) == 0
        finally:
            threads.close()
        return self.mails[before:]

    def end_run(self, who: str, name: str) -> None:
        run = self.site.run(who, name)["id"]
        assert not self.site.db.runs.admit(run, self.site.now)
        self.site.db.runs.finish(run, Outcome.FAILED, "the stranger reads this", self.site.now)


@pytest.fixture
def post(site: Site) -> Iterator[Post]:
    """Return the post of a site that sends mail."""
    config = site.services.config
    site.services.config = config.model_validate(config.model_dump() | MAIL)
    made = Post(site)
    made.smtp.start()
    yield made
    made.smtp.stop()


def test_a_strangers_address_gets_one_link_and_no_notice_until_it_is_confirmed(
    site: Site, post: Post
) -> None:
    newcomer = Browser(site)
    newcomer.open("/register")
    wanted = {"name": "mia", "email": "victim@example.org", "password": WORD, "again": WORD}
    assert newcomer.send("/register", wanted).status_code == 303
    assert post.deliver() == []
    root = Browser(site).log_in("root2")
    root.open("/admin/users?state=pending")
    root.send("/admin/users/mia", {"state": "active", "group": "vision", "back": "list"})
    ((to, text),) = post.deliver()
    assert to == ["victim@example.org"]
    post.end_run("mia", "blackmail")
    post.end_run("ann", "mnist")
    assert [to for to, _ in post.deliver()] == [["ann@example.org"]], (
        "the stranger reads nothing of mia's run"
    )

    # A scanner fetches the link; a stranger opens it in a session of another account, and presses the button.
    found = re.search(r"https://ava\.test(/confirm-email\?confirmation=\S+)", text)
    assert found is not None
    path = found[1]
    assert Browser(site).ask("GET", path).headers["location"].startswith("/login?next=%2Fconfirm-email")
    stranger = Browser(site).log_in("ben")
    shown = stranger.open(path).text
    field = re.search(r'name="confirmation" value="([^"]+)"', shown)
    assert "ben@example.org" in shown and field is not None
    given = {"confirmation": field[1]}
    assert "another account or address" in stranger.send("/confirm-email", given).text
    assert site.db.users.get("mia").email_confirmed is None

    # The user herself.
    mia = Browser(site).log_in("mia")
    assert "Not confirmed" in mia.open("/account").text
    assert "Not confirmed" in root.open("/admin/users/mia").text
    page = mia.open(path)
    assert given["confirmation"] in page.text and site.db.users.get("mia").email_confirmed is None
    assert mia.send("/confirm-email", given).headers["location"] == "/account?done=confirmed"
    assert "Not confirmed" not in mia.open("/account").text
    post.end_run("mia", "second")
    ((to, text),) = post.deliver()
    assert to == ["victim@example.org"] and "second" in text
    assert mia.send("/confirm-email", given).status_code == 403, "good once"


def test_the_page_sends_the_link_again_and_says_when_it_may_not(site: Site, post: Post) -> None:
    ann = Browser(site, "zh").log_in("ann")
    ann.open("/account")
    ann.send("/account/email", {"email": "new@example.org"})
    assert "未确认" in ann.open("/account").text
    assert ann.send("/account/email/confirmation").headers["location"] == "/account?done=confirmation-sent"
    assert [to for to, _ in post.deliver()] == [["new@example.org"]] * 2
    root = Browser(site).log_in("root2")
    root.open("/admin/users/ann")
    assert root.send("/admin/users/ann/email-confirmation").status_code == 303
    for _ in range(2):
        ann.send("/account/email/confirmation")
    assert ann.send("/account/email/confirmation").status_code == 429
    assert len(post.deliver()) == 3


def test_a_site_without_mail_shows_nothing(site: Site) -> None:
    ann = Browser(site).log_in("ann")
    ann.open("/account")
    ann.send("/account/email", {"email": "new@example.org"})
    assert "onfirm" not in ann.open("/account").text.replace("Confirm password", "")
    root = Browser(site).log_in("root2")
    assert "onfirmed" not in root.open("/admin/users/ann").text

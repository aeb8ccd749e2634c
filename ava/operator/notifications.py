"""Notices of the database go to their owner by mail and to the site's webhook.

At least once: one that could not be delivered is tried again until it is a day old. What is older is not reported any more, so
that a site which begins to send notices does not tell its users of all that ever ended. A mail's Message-ID and a webhook's
``id`` are the message's number, by which a receiver recognizes duplicates.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import smtplib
import ssl
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from ava.db.database import Database
from ava.domain.model import CONFIRM_EMAIL, Message, Run, Topic, User, UserState
from ava.domain.problems import ApiError
from ava.kube.backoff import Backoff
from ava.operator import mails
from ava.operator.config import Mail, Notices, Webhook
from ava.operator.db_executor import DbExecutor
from ava.operator.metrics import Metrics
from ava.operator.reconciler import utc

log = logging.getLogger(__name__)
KEPT = timedelta(days=1)
TIMEOUT = 15.0
"""Seconds for one delivery."""
POLL = 5.0
SELDOM = 600.0
"""Seconds between two looks for notices that are too old, where no notification is configured."""
AT_ONCE = 1000
FAILURES = (OSError, aiohttp.ClientError, TimeoutError, smtplib.SMTPException)
"""What goes wrong on the way: the delivery is tried again."""
SILENT = 3
"""After so many failures in a row a way is left alone until the next round: each of the others would wait for it as long."""


class Notifier:
    """Takes notices in order and delivers them."""

    def __init__(self, db: Database, threads: DbExecutor, settings: Notices, metrics: Metrics) -> None:
        self.db, self.threads, self.settings, self.metrics = db, threads, settings, metrics
        self._delivered: set[tuple[int, str]] = set()
        self._failed: dict[int, int] = {}
        """How often each open notice could not be delivered: those that fail again and again come last."""

    async def run(self) -> None:
        """Deliver until cancelled; where there is no way to deliver, close what is too old: another operator may have one."""
        backoff = Backoff(1.0, 60.0)
        while True:
            try:
                if self.settings.webhook is None and self.settings.mail is None:
                    await self.forget(utc())
                    await asyncio.sleep(SELDOM)
                    continue
                failed = await self.deliver(utc())
                await self.threads(self.db.outbox.wait, Topic.NOTICE, POLL)
                if not failed:
                    backoff.reset()
                    continue
            except ApiError as error:
                log.warning("notices: %s", error)
            except Exception:
                # Whatever it is, it must not end what else the operator does.
                log.exception("notices")
            await asyncio.sleep(backoff.next())

    async def deliver(self, now: datetime) -> int:
        """Deliver what is open; return how many notices could not be delivered now."""
        await self.forget(now)
        found = await self.threads(self.db.outbox.list_open, Topic.NOTICE, AT_ONCE)
        self._failed = {m.seq: self._failed[m.seq] for m in found if m.seq in self._failed}
        failed, silent = 0, dict[str, int]()
        for message in sorted(found, key=lambda m: (self._failed.get(m.seq, 0), m.seq)):
            try:
                well = await self._one(message, silent)
            except ApiError:
                raise
            except Exception:
                # It concerns one notice, and would be so again: it is closed, and the others are delivered.
                log.exception("notice %d cannot be delivered", message.seq)
                self.metrics.notices_failed.inc()
                well = True
            if well:
                await self.threads(self.db.outbox.complete, [message.seq], now)
                self._delivered -= {(message.seq, "mail"), (message.seq, "webhook")}
            else:
                self._failed[message.seq] = self._failed.get(message.seq, 0) + 1
                failed += 1
        return failed

    async def forget(self, now: datetime) -> None:
        """Close what is too old to be reported; the oldest are the first."""
        while late := [
            m.seq
            for m in await self.threads(self.db.outbox.list_open, Topic.NOTICE, AT_ONCE)
            if now - m.created > KEPT
        ]:
            await self.threads(self.db.outbox.complete, late, now)
            self._delivered = {(seq, way) for seq, way in self._delivered if seq not in late}

    async def _one(self, message: Message, silent: dict[str, int]) -> bool:
        """Deliver one notice by all ways; return whether all have it. ``silent`` counts each way's failures in a row."""
        ways = await self._ways(message)
        well = True
        for name, way in ways.items():
            if (message.seq, name) in self._delivered:
                continue
            if silent.get(name, 0) >= SILENT:
                well = False
                continue
            try:
                await way()
            except smtplib.SMTPRecipientsRefused:
                # For ever: this address takes nothing, and must not hold up what comes after.
                log.warning("notice %d: the server refuses the owner's address", message.seq)
                self._delivered.add((message.seq, name))
            except FAILURES as error:
                # Only the class: a server's words may quote the login.
                log.warning("notice %d by %s: %s", message.seq, name, type(error).__name__)
                self.metrics.notices_failed.inc()
                silent[name] = silent.get(name, 0) + 1
                well = False
            except Exception:
                # What it is made from (an address, a name) makes no mail, now or later; the other way may still have it.
                log.exception("notice %d by %s cannot be made", message.seq, name)
                self.metrics.notices_failed.inc()
                self._delivered.add((message.seq, name))
            else:
                silent.pop(name, None)
                self._delivered.add((message.seq, name))
                self.metrics.notices.inc()
        return well

    async def _ways(self, message: Message) -> dict[str, Callable[[], Awaitable[None]]]:
        """Return how a notice is delivered, by the names of the ways; none for one that no one needs any more."""
        try:
            if message.kind == CONFIRM_EMAIL:
                return self._confirmation(message, await self.threads(self.db.users.get, message.object))
            if not message.kind.startswith(("run-", mails.IDLE)):
                return {}
            run = await self.threads(self.db.runs.get, message.object)
            owner = await self.threads(self.db.users.get, run.owner)
        except ApiError as error:
            if error.status == 404:
                return {}
            raise
        ways: dict[str, Callable[[], Awaitable[None]]] = {}
        if (hook := self.settings.webhook) is not None:
            ways["webhook"] = lambda: post(hook, body(message, run))
        if (mail := self.settings.mail) is not None and not self._left_out(message, owner):
            ways["mail"] = lambda: asyncio.to_thread(send, mail, mails.notice(mail, message, run, owner))
        return ways

    def _confirmation(self, message: Message, owner: User) -> dict[str, Callable[[], Awaitable[None]]]:
        """Return how a link is sent; none where the address was confirmed or changed meanwhile, or the account was disabled."""
        mail, asked = self.settings.mail, message.payload.get("email")
        if mail is None or owner.state is not UserState.ACTIVE:
            return {}
        if owner.email_confirmed is not None or owner.email != asked:
            return {}
        return {
            "mail": lambda: asyncio.to_thread(send, mail, mails.confirmation(mail, message, owner)),
        }

    def _left_out(self, message: Message, owner: User) -> bool:
        """Whether no mail is sent because the address may be a stranger's; each notice is counted once."""
        if owner.email_confirmed is not None:
            return False
        if (message.seq, "mail") not in self._delivered:
            self._delivered.add((message.seq, "mail"))
            self.metrics.notices_unconfirmed.inc()
        return True


def body(message: Message, run: Run) -> dict[str, Any]:
    """Return a webhook's document."""
    return {
        "id": message.seq,
        "kind": message.kind,
        "at": message.created.isoformat(),
        "run": run.id,
        "name": run.name,
        "owner": run.owner,
        "group": run.group,
        "outcome": run.outcome.value if run.outcome else None,
        "reason": mails.why(message, run),
    }


def send(mail: Mail, what: EmailMessage) -> None:
    """Hand a mail to the site's server; raises OSError or smtplib.SMTPException. Where TLS is asked for, it is verified."""
    context = ssl.create_default_context(cafile=str(mail.ca) if mail.ca else None)
    if mail.tls == "tls":
        server: smtplib.SMTP = smtplib.SMTP_SSL(mail.host, mail.port, timeout=TIMEOUT, context=context)
    else:
        server = smtplib.SMTP(mail.host, mail.port, timeout=TIMEOUT)
    with server:
        if mail.tls == "starttls":
            server.starttls(context=context)
        if mail.user is not None and mail.passfile is not None:
            server.login(mail.user, _secret(mail.passfile))
        server.send_message(what)


async def post(hook: Webhook, document: dict[str, Any]) -> None:
    """Post a document; raises aiohttp.ClientError where it was not taken with 2xx. Redirects are not followed."""
    raw = orjson.dumps(document)
    headers = {"Content-Type": "application/json"}
    if hook.secret_file is not None:
        key = (await asyncio.to_thread(_secret, hook.secret_file)).encode()
        headers["X-AVA-Signature"] = "sha256=" + hmac.new(key, raw, hashlib.sha256).hexdigest()
    context = ssl.create_default_context(cafile=str(hook.ca) if hook.ca else None)
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIMEOUT)) as session,
        session.post(hook.url, data=raw, headers=headers, ssl=context, allow_redirects=False) as reply,
    ):
        if reply.status // 100 != 2:
            raise aiohttp.ClientResponseError(reply.request_info, (), status=reply.status)


def _secret(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip()

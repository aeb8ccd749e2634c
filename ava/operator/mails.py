"""The mails that AVA sends. What users wrote is only in the body and, as one line, in the subject."""

from __future__ import annotations

from email.message import EmailMessage
from email.utils import format_datetime

from ava.domain.model import Message, Run, User
from ava.domain.node_drains import NOTICE, WITHDRAWN
from ava.domain.phrases import Phrase
from ava.operator.config import Mail

IDLE = "bench-idle"
"""Kind of the notice that a workbench is idle and is going to be stopped."""
HOW = {IDLE: "idle", NOTICE: "node maintenance", WITHDRAWN: "no node maintenance"}
"""The first words of a run that has not ended, by the kind of the notice."""
_CONFIRM = """\
The user {name} of AVA has entered this e-mail address. To receive notices here, log in as {name} and confirm it within
three days:

{link}

If you are not {name}, ignore this mail: AVA sends no notices to an address that is not confirmed.

AVA 用户 {name} 填写了此邮箱地址。若要在此接收通知，请以 {name} 登录，并在三天内通过上面的链接确认。
如果您不是 {name}，请忽略此邮件：AVA 不会向未确认的地址发送通知。
"""


def notice(mail: Mail, message: Message, run: Run, owner: User) -> EmailMessage:
    """Return the mail about a run."""
    ended = run.outcome.value if run.outcome else message.kind.removeprefix("run-")
    how = HOW.get(message.kind, ended)
    made = _letter(mail, message, owner.email, run.id)
    made["Subject"] = f"{run.kind.value} {' '.join(run.name.split())[:150]}: {how}"
    text = f"{run.kind.value} {run.name} (run {run.id}, group {run.group}): {how}.\n\n{why(message, run)}\n"
    made.set_content(text)
    return made


def confirmation(mail: Mail, message: Message, owner: User) -> EmailMessage:
    """Return the mail with the link by which a user confirms an address; it has no text that a user chose but the name."""
    made = _letter(mail, message, owner.email, owner.id)
    made["Subject"] = "AVA: confirm your e-mail address / 确认您的邮箱地址"
    made.set_content(_CONFIRM.format(name=owner.name, link=message.payload["link"]))
    return made


def why(message: Message, run: Run) -> str:
    """Return what a notice says of the reason."""
    if message.kind == IDLE:
        until = str(message.payload.get("until", "soon"))
        return Phrase(
            "It is idle. It is stopped at {until} unless it is used; what is on its disk and in the home stays.",
            until=until,
        )
    return str(message.payload.get("reason") or run.reason)


def _letter(mail: Mail, message: Message, to: str, about: str) -> EmailMessage:
    made = EmailMessage()
    made["From"] = mail.sender
    made["To"] = to
    made["Date"] = format_datetime(message.created)
    made["Message-ID"] = f"<ava-{message.seq}-{about}@{mail.sender.partition('@')[2]}>"
    made["Auto-Submitted"] = "auto-generated"
    return made

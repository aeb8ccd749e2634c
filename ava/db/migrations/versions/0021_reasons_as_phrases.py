"""Template and values of the reasons of runs that ended before 0020, where the text is one that AVA wrote then.

The text itself stays as it is, any other text stays without, and readers use what is kept beside a text only where it makes
exactly that text (`ava/domain/phrases.py`).
"""

from __future__ import annotations

import re
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0021"
down_revision = "0020"
BACKWARD_COMPATIBLE = True
DOCUMENT = sa.JSON().with_variant(JSONB(), "postgresql")
RUNS = sa.table("runs", sa.column("id"), sa.column("reason"), sa.column("reason_phrase", DOCUMENT))
TEMPLATES = (
    "Stopped by {by}.",
    "It ran for its time limit of {seconds} s.",
    "It waited for the run {id} ({name}), which was stopped.",
    "It waited for the run {id} ({name}), which ran out of time.",
    "It waited for the run {id} ({name}), which failed.",
    "Pod {role} {index} on {node}: {why}.",
    "Pod {role} {index} on {node}: {why} ({words}).",
    "Pod {role} {index}: {why}.",
    "Pod {role} {index}: {why} ({words}).",
    "{first} {second}",
    "It was started {count} times.",
    "It was replaced {count} times.",
    "it used more memory than its limit and the kernel ended it; ask for more memory",
    "its node ran short of memory or disk and evicted it",
    "its node does not answer",
    "it went away without having ended",
    "its image cannot be pulled; check the name, the tag and whether the registry has it",
    "its container cannot be started; check the command",
    "its time limit is over",
    "it made room for something more important",
    "its node could not give it what it asked for, such as a GPU",
    "it was ended by {signal}",
    "its command failed with exit code {code}",
    "its command failed",
    "it failed",
)
NUMBERS = dict.fromkeys(("index", "count", "seconds", "code"), r"\d+")
NESTED = {"first": r"Pod .+\.", "second": r"It was \w+ \d+ times\.", "why": "i.+?"}
VALUES = {**NUMBERS, **NESTED, "signal": r"SIG\w+|signal \d+", "by": ".+", "words": ".+"}
"""What a place may hold where that is not one word; of nested places one of the templates."""
PLACE = re.compile(r"\\\{(\w+)\\\}")
PATTERNS = {
    t: re.compile(PLACE.sub(lambda p: f"(?P<{p[1]}>{VALUES.get(p[1], '[^ ]+')})", re.escape(t)), re.DOTALL)
    for t in TEMPLATES
}


def phrase(text: str) -> dict[str, Any] | None:
    """Return what makes a reason; None for a text that is none of AVA's."""
    for template, pattern in PATTERNS.items():
        if found := pattern.fullmatch(text):
            values = {name: phrase(v) if name in NESTED else v for name, v in found.groupdict().items()}
            if None not in values.values():
                return {"template": template, "values": values}
    return None


def upgrade() -> None:
    """Write what makes the reasons that are known, some rows at a time; `reason` itself is not written."""
    connection, last = op.get_bind(), ""
    unknown = sa.select(RUNS.c.id, RUNS.c.reason).where(
        RUNS.c.reason_phrase.is_(sa.null()), RUNS.c.reason != ""
    )
    update = RUNS.update().where(RUNS.c.id == sa.bindparam("run"))
    update = update.values(reason_phrase=sa.bindparam("made", type_=DOCUMENT))
    while rows := connection.execute(unknown.where(RUNS.c.id > last).order_by(RUNS.c.id).limit(1000)).all():
        made = [{"run": row.id, "made": found} for row in rows if (found := phrase(row.reason))]
        if made:
            connection.execute(update, made)
        last = rows[-1].id

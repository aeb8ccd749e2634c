"""What to do about known errors; the table is remedies.yml."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from ruamel.yaml import YAML

UNREACHABLE = "Host is unreachable"
"""Text that has the remedy of a node that cannot be reached, for errors that say it in words of their own."""
OWN = "Remedy: "
"""How our roles and modules name theirs."""
FALLBACK = "Read the log below at this task; correct the cause, then run the command below."


@cache
def _table() -> list[tuple[re.Pattern[str], str]]:
    text = (files("avadm.engine") / "remedies.yml").read_text(encoding="utf-8")
    return [(re.compile(r["pattern"], re.IGNORECASE), r["remedy"]) for r in YAML(typ="safe").load(text)]


def own(text: str) -> tuple[str, str]:
    """Return an error's text without the remedy that it names itself, and that; "" where it names none.

    What follows the remedy behind a bar (the end of a log) belongs to the error.
    """
    before, _, after = text.partition(OWN)
    reply, bar, rest = after.partition(" | ")
    return (
        (before.rstrip() + (f"{bar}{rest}" if bar else ""), " ".join(reply.split()))
        if reply.strip()
        else (text, "")
    )


def remedy(host: str, *texts: str) -> str:
    """Return what to do about an error on a host.

    Args:
        host: the node's name, filled into the sentence.
        texts: the error's texts, most telling first; the first one that is known wins.
    """
    for text in texts:
        if reply := own(text)[1]:
            return reply
        for pattern, sentence in _table():
            if text and pattern.search(text):
                return sentence.replace("{host}", host)
    return FALLBACK

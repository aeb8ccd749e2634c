"""What problems and reasons say, in the reader's language: the API writes English sentences with figures in them.

A catalogue has each of these sentences with ``{}`` for what is put in. A text is compared with them from end to end,
without backtracking (what users and nodes write is among it), and its figures go into the translation, each of them
translated too where the catalogue knows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

CONTEXT = "sentence"
_PARTS = (
    "Pod {} {} on {}: {} ({}).", "Pod {} {} on {}: {}.", "Pod {} {}: {} ({}).", "Pod {} {}: {}.",
    "{} {} more pods have trouble.", "{} {} more pods are starting.", "{} of its {} pods are created.",
    "it was ended by {}", "its command failed with exit code {}", "it failed", "it waits",
    "{} node: {}.", "{} nodes: {}.", "GPU {} free at most, {} wanted", "CPU {} free at most, {} wanted",
    "{} ({} more when pods that are stopping have ended)",
    "memory {} free at most, {} wanted", "{} (what is kept for runs before this one is not free)", "taken out of use",
    "not the node {}", "not the GPU model {}", "without the labels wanted", "with a taint that is not tolerated", "in trouble",
    "where the port is taken", "with as many pods as they take", "Attempt {}.", "More replicas wait: {}",
    "The update to revision {} stopped: {}", "The group {}", "The queue {}", "group {}", "queue {}", "user {}", "run {}",
    "pool {}", "data set {}", "definition {}", "workbench {}", "GPUs", "cores", "of memory", "no limit", "read", "written",
    "queue", "group", "user", "run", "pool", "data set", "definition", "workbench", "training", "service", "node", "key",
    "never", "for {} s not", "file or folder of this name", "{} free of {} {}", "{} GPUs", "{} cores", "{} of memory",
    "Ask {}.", "Add {}.", "See {}.", "nothing", "none", "another text",
    "there is no image {}", "the image {} has no snapshot {}", "the cache has nothing at {}: {}", "no master is known",
    "the cache does not say what it holds: {}", "only its first {} files were looked at", "its answer is too long",
    "no namenode of {} answers the cache: runs read nothing there until one does",
    "its volume cannot be asked for: {}", "its volume was removed; it is recreated", "status {}",
    "the claim {} is there and not ours; remove it",
    "its claim has the volume {}, which is not of it",
    "a length of at least {}", "a length of at most {}", "text that matches {}", "text that is not empty", "admin",
    "a whole number", "a number", "text", "true or false", "at least {} and at most {}", "more than {}", "less than {}",
    "what is there and may be seen by you", "ssh-ed25519, ecdsa-sha2-nistp256/384/521, or ssh-rsa of 2048 bits and more",
)  # fmt: skip
FIELDS = (
    "name", "image", "command", "email", "password", "current", "new", "value", "label", "days", "invitation", "group", "user",
    "pool", "quota", "selector", "priority", "replicas", "cpu", "memory", "gpu", "storage", "disk", "path", "snapshot", "server",
    "port", "health", "metrics", "starts_in", "model", "access", "least", "most", "requests", "retries", "time_limit", "url",
    "store", "commit", "node", "gpu_model", "queue", "cpu_ratio", "memory_ratio", "gpu_slots",
)  # fmt: skip
"""Fields of forms. Alone they could be anybody's name of something; in these sentences they are not."""
MORE = (
    *_PARTS,
    *(
        text
        for field in FIELDS
        for text in (f"Invalid value for {field}.", f"Give {field} a value of this kind.")
    ),
)
"""Sentences, and parts of sentences that are put together, which scripts/web-words finds nowhere as a whole."""
_DEEP = 3
"""Sentences within sentences."""


class Sentences:
    """The sentences of one language.

    Args:
        rows: English and translation; the translation's places are ``{}`` or, in another order, ``{0}``, ``{1}`` …
    """

    def __init__(self, rows: Iterable[tuple[str, str]]) -> None:
        held = [(text, reply) for text, reply in rows if reply]
        self._plain = {text: reply for text, reply in held if "{}" not in text}
        parts = [(text.split("{}"), reply) for text, reply in held if "{}" in text]
        # What says more itself is compared first.
        self._parts = sorted(parts, key=lambda row: -sum(map(len, row[0])))
        self._say = lru_cache(2000)(self._search)

    def say(self, text: str) -> str:
        """Return one or more sentences in this language; "" where the catalogue has no words for all of it."""
        return self._say(text, 0)

    def part(self, text: str) -> str:
        """Return a part of a sentence (``1 free of 8 GPUs``) in this language; "" where the catalogue has no words for it."""
        return self._say(text, 1)

    def _search(self, text: str, deep: int) -> str:
        if not text or len(text) > 4000 or deep > _DEEP:
            return ""
        if (reply := self._plain.get(text)) is not None:
            return reply
        several = re.split(r"(?<=\.) (?=[A-Z])", text)
        whole = [self._say(one, 0) for one in several] if len(several) > 1 else []
        if whole and all(whole):
            return "".join(whole)
        for parts, reply in self._parts:
            # A part of a sentence is nothing by itself.
            if (
                deep or parts[-1].endswith(".") or (parts[0][:1].isupper() and parts[-2].endswith(": "))
            ) and (values := fitting(parts, text)) is not None:
                return reply.format(*(self._say(value, deep + 1) or value for value in values))
        return ""


def fitting(parts: list[str], text: str) -> list[str] | None:
    """Return what stands in a text between the parts of a sentence, each place as short as may be; None where they differ."""
    first, *inner, last = parts
    if not text.startswith(first) or not text.endswith(last) or len(text) < len(first) + len(last):
        return None
    at, end, values = len(first), len(text) - len(last), []
    for part in inner:
        found = text.find(part, at, end)
        if found < 0:
            return None
        values.append(text[at:found])
        at = found + len(part)
    values.append(text[at:end])
    return values if all(values) else None

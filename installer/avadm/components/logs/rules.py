"""Rules over where logs are kept."""

from __future__ import annotations

from collections.abc import Iterator

from avadm.findings import Finding
from avadm.site.draft import Draft

KNOBS = ("components", "logs")


def stores(draft: Draft) -> Iterator[Finding]:
    """Stores are nodes of the site, each once, and two of them."""
    logs, path = draft.site.components.logs, (*KNOBS, "stores")
    if logs is None or not draft.ok(*path):
        return
    yield from draft.twice(
        "log-store", "The store", (((*path, i), s, None) for i, s in enumerate(logs.stores))
    )
    if draft.whole("name"):
        known = [n.name for n in draft.site.nodes]
        for i, name in enumerate(logs.stores):
            if name not in known:
                yield draft.error(
                    "log-store",
                    (*path, i),
                    "Logs would be kept on a node that the site has not.",
                    name,
                    "names of nodes",
                    "Name a node of the site.",
                )
    if len(logs.stores) == 1:
        yield draft.warning(
            "log-store-alone",
            path,
            "With one store, its loss is the loss of all logs.",
            logs.stores[0],
            "2 stores",
            "Name a second node.",
        )
    elif len(logs.stores) > 3:
        yield draft.warning(
            "log-stores-many",
            path,
            "Each store keeps all logs, and every node sends to each.",
            f"{len(logs.stores)} stores",
            "2 or 3",
            "Name two nodes.",
        )


def files(draft: Draft) -> Iterator[Finding]:
    """A component's files are named once."""
    logs, path = draft.site.components.logs, (*KNOBS, "files")
    if logs is None or not draft.ok(*path):
        return
    named = (((*path, i), f"{f.folder}/{f.names}", None) for i, f in enumerate(logs.files))
    yield from draft.twice("log-file", "The log file", named)


RULES = [stores, files]

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
    yield from draft.twice("log-store", (((*path, i), s, None) for i, s in enumerate(logs.stores)))
    if draft.whole("name"):
        known = [n.name for n in draft.site.nodes]
        for i, name in enumerate(logs.stores):
            if name not in known:
                yield draft.finding("log-store-node", (*path, i), name, "names of nodes")
    if len(logs.stores) == 1:
        yield draft.finding("log-store-alone", path, logs.stores[0], "2 stores")
    elif len(logs.stores) > 3:
        yield draft.finding("log-stores-many", path, f"{len(logs.stores)} stores", "2 or 3")


def files(draft: Draft) -> Iterator[Finding]:
    """A component's files are named once."""
    logs, path = draft.site.components.logs, (*KNOBS, "files")
    if logs is None or not draft.ok(*path):
        return
    named = (((*path, i), f"{f.folder}/{f.names}", None) for i, f in enumerate(logs.files))
    yield from draft.twice("log-file", named)


RULES = [stores, files]

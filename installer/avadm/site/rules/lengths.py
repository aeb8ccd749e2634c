"""Rules over the length of names: what certificates and DNS take of names that are put together from those of the site file."""

from __future__ import annotations

from collections.abc import Iterator

from avadm.components.certificates import authorities, leaves
from avadm.findings import Finding
from avadm.site.draft import Draft
from avadm.site.source import KeyPath

MAX_SUBJECT = 64
"""Most characters of a common name or organization (X.509, ub-common-name)."""
MAX_DNS_NAME = 253
"""Most characters of a DNS name."""


def lengths(draft: Draft) -> Iterator[Finding]:
    """No name in a certificate or in DNS is longer than may be; reported once at the key that makes it too long."""
    if draft.broken:  # nearly every key has a part in them
        return
    values = _values(draft)
    worst: dict[KeyPath, tuple[int, str, int]] = {}
    for text, bound in _names(draft):
        if (over := len(text) - bound) > 0:
            # The key whose value has the largest part in it.
            path = max((key for key in values if values[key] in text), key=lambda key: len(values[key]))
            worst[path] = max(worst.get(path, (0, "", 0)), (over, text, bound))
    for path, (over, text, bound) in worst.items():
        value = values[path]
        kind = "the name in a certificate" if bound == MAX_SUBJECT else "a DNS name"
        yield draft.finding(
            "name-too-long",
            path,
            f"{len(value)} characters: {value}",
            f"at most {len(value) - over} characters",
            host=value if path[0] == "nodes" else None,
            kind=kind,
            count=len(text),
            bound=bound,
        )


def _names(draft: Draft) -> Iterator[tuple[str, int]]:
    """Return each name that is put together, with its bound."""
    site = draft.site
    for authority in authorities(site):
        yield f"{site.name} {authority}", MAX_SUBJECT
    for leaf in leaves(site):
        yield leaf.user, MAX_SUBJECT
        yield leaf.group, MAX_SUBJECT
        yield from ((name, MAX_DNS_NAME) for name in leaf.names)
    yield from ((f"{node.name}.{site.network.domain}", MAX_DNS_NAME) for node in site.nodes)


def _values(draft: Draft) -> dict[KeyPath, str]:
    """Return the values of the site file from which names are put together."""
    site = draft.site
    store = site.components.object_store
    return {
        ("network", "domain"): site.network.domain,
        ("name",): site.name,
        **({("components", "object_store", "name"): store.name} if store and store.name else {}),
        **{("nodes", i, "name"): node.name for i, node in enumerate(site.nodes)},
    }


RULES = [lengths]

"""Rules over names that are put together: no two certificates, and so no two private keys, may get one name."""

from __future__ import annotations

from collections.abc import Iterator

from avadm.components.certificates import leaves
from avadm.findings import Finding
from avadm.pki.model import Leaf
from avadm.site.draft import Draft


def vault_names(draft: Draft) -> Iterator[Finding]:
    """Each certificate has a name of its own: `registry-writer-NODE` is also that of a registry on `writer-NODE`."""
    if draft.broken:  # nearly every key has a part in them
        return
    names = [n.name for n in draft.site.nodes]
    if len(set(names)) < len(names):  # another rule's finding
        return
    seen: dict[str, Leaf] = {}
    for leaf in leaves(draft.site):
        if seen.setdefault(leaf.name, leaf) == leaf:
            continue
        # The longest node name that the certificate's ends with is the one that begins like another part's.
        name = max((n for n in names if leaf.name.endswith(f"-{n}")), key=len, default="")
        if not name:  # two accounts of one name, another rule's too
            continue
        yield draft.finding(
            "vault-name-clash",
            ("nodes", names.index(name), "name"),
            leaf.name,
            "a node name that does not begin like the name of a part (writer-…)",
            host=name,
        )


RULES = [vault_names]

"""What belongs to a collection of garbage: whether one is worth it, and what the registry leaves behind. Python 3.5 or later.

The registry removes blobs that no manifest names, and leaves the links of repositories to them. A link without its manifest
would be counted again as soon as somebody else pushes the same layer.
"""

import argparse
import os
import shutil
import sys

from .account import Account, limit
from .cut import room
from .storage import Storage, folders


def due(storage, limits, least):
    """Return why layers should be collected now, "" where they need not be."""
    waiting = 0
    for owner in storage.owners():
        account = Account(storage, owner)
        most = limit(owner, limits)
        waiting += account.waiting
        full = most is not None and (account.used >= most or account.used + account.waiting >= 2 * most)
        if (account.waiting or account.loose) and (full or account.countless):
            return "%s waits for it" % owner
    return "%d bytes of deleted images" % waiting if waiting >= least else ""


def tidy(storage):
    """Remove links to layers that no manifest of their repository names, and what is left of deleted manifests and of uploads.

    There are no writes meanwhile, after the collection. Links are kept where a manifest cannot be read, or names nothing: it
    may name them.
    """
    removed = 0
    for _, path in storage.repositories():
        live, deleted = storage.revisions(path)
        found = [storage.named(digest) for digest in live]
        if all(found) and all(parts or children for parts, children in found):
            named = {digest for parts, _ in found for digest in parts}
            for digest in storage.layers(path) - named:
                shutil.rmtree(os.path.join(path, "_layers", "sha256", digest))
                removed += 1
        for digest in deleted:
            shutil.rmtree(os.path.join(path, "_manifests", "revisions", "sha256", digest))
        uploads = os.path.join(path, "_uploads")
        for name in folders(uploads):
            if not os.path.exists(os.path.join(uploads, name, "startedat")):
                shutil.rmtree(os.path.join(uploads, name))
    return removed


def main():
    """Tidy up, or end with 0 where a collection is due and 1 where it is not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--settings", help="the file of the program that counts: ask whether a collection is due"
    )
    parser.add_argument("--least", type=int, default=1, help="bytes for which it is")
    parser.add_argument("storage", help="the registry's folder")
    given = parser.parse_args()
    if not given.settings:
        print("%d links to layers removed" % tidy(Storage(given.storage)))
        return
    from .serve import settings

    report = settings(given.settings)
    # Where the disk is short, any byte is worth it: no one can push anyway.
    least = given.least if room(given.storage, int(report["room_percent"])) else 1
    why = due(Storage(given.storage), report["limits"], least)
    print(why or "nothing to collect")
    sys.exit(0 if why else 1)

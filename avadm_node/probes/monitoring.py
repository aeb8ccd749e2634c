"""Whether a server of monitoring is ready, and how many members its mesh has."""

from __future__ import absolute_import

import json

from ..opener import opener_for


def ask(params):
    """Return what a server says of itself.

    Args:
        params: url (its root), tls (files of a certificate that it wants, or None), mesh (whether its members are counted).

    Returns:
        why (what it is not ready for; "" where it is), members (None where they were not counted).
    """
    opener = opener_for(params["tls"])
    try:
        opener.open(params["url"] + "/-/ready", timeout=5).read()
        if not params["mesh"]:
            return {"why": "", "members": None}
        text = opener.open(params["url"] + "/api/v2/status", timeout=5).read().decode("utf-8")
        return {"why": "", "members": len(json.loads(text)["cluster"].get("peers") or [])}
    except (OSError, IOError, ValueError, KeyError) as error:
        return {"why": "%s: %s" % (type(error).__name__, error), "members": None}

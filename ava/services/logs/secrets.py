"""What is masked in lines that come from Kubernetes itself: the same as what the nodes' shippers of logs mask."""

from __future__ import annotations

import re
from collections.abc import Iterable

MASK = "***"


class Secrets:
    """Expressions of what is masked.

    Args:
        expressions: of Python; what group 1 matches is kept, where there is one. Applied in this order.
    """

    def __init__(self, expressions: Iterable[str] = ()) -> None:
        found = [re.compile(text) for text in expressions]
        self._all = [(one, rf"\1{MASK}" if one.groups else MASK) for one in found]

    def masked(self, text: str) -> str:
        """Return a line with ``***`` in the place of each secret."""
        for expression, mask in self._all:
            text = expression.sub(mask, text)
        return text


NO_SECRETS = Secrets()

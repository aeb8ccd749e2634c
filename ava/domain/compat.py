"""Names of newer Python for modules that the client distribution has too, which runs on Python 3.9."""

from __future__ import annotations

import enum
import sys
from datetime import timezone
from typing import Any

UTC = timezone.utc

if sys.version_info >= (3, 10):
    from dataclasses import dataclass as dataclass
else:
    import dataclasses

    def dataclass(**flags: Any) -> Any:
        """Make a data class; slots, which save memory in the platform's processes, are left out."""
        flags.pop("slots", None)
        return dataclasses.dataclass(**flags)


if sys.version_info >= (3, 11):
    from enum import StrEnum as StrEnum  # novm
else:

    class StrEnum(str, enum.Enum):
        """Members that are their values: as text, too."""

        __str__ = str.__str__
        __format__ = str.__format__

"""What the doctor asks of the packet filter."""

from __future__ import absolute_import

import json
import os

from .system import must


def packet_filter(_):
    """What the packet filter's own program says of it."""
    program = "/usr/local/sbin/avadm-packet-filter"
    return json.loads(must([program, "status"])) if os.path.exists(program) else {"loaded": False, "kept": ""}

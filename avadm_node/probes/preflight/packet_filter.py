"""Other programs that set up packet filters."""

from __future__ import absolute_import

import glob
import os
import re


def filters(call):
    """Other programs that set up packet filters at a boot, and nftables' tables of our name that are not ours."""
    enabled = [
        path
        for path in glob.glob("/etc/systemd/system/*.wants/*.service")
        if os.path.basename(path) in ("nftables.service", "firewalld.service")
    ]
    others = sorted(set(os.path.basename(path).split(".")[0] for path in enabled))
    try:
        with open("/etc/ufw/ufw.conf") as source:
            others += ["ufw"] if re.search(r"^ENABLED=yes", source.read(), re.M) else []
    except (OSError, IOError):
        pass
    tables = []
    if os.path.exists("/usr/sbin/nft") and not os.path.exists("/etc/avadm/packet-filter.nft"):
        tables = re.findall(r"^table (ip6? avadm)$", call("/usr/sbin/nft", "list", "tables")[1], re.M)
    return {"others": others, "tables": tables}

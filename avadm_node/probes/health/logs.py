"""What the doctor asks of the logs: stores and shippers."""

from __future__ import absolute_import

import os

from .services import answer, figures, state
from .system import Failed

SHIPPER = ("avadm_log_shipper_up", "avadm_log_shipper_waiting", "avadm_log_shipper_dropped_total")
WATCH = ("avadm_log_store_up", "avadm_log_store_read_only")


def log_store(params):
    """Whether this node's store of logs answers, what is free on its disk, and what the last look at it found."""
    try:
        disk = os.statvfs("/var/lib/avadm-logs")
    except OSError as error:
        raise Failed("/var/lib/avadm-logs: %s" % error.strerror)
    return {
        "health": answer(params["address"], params["logs"]["port"], "/health", "/etc/avadm/logs/ca.crt"),
        "free_mib": disk.f_bavail * disk.f_frsize // 2**20,
        "watch": figures("avadm-log-watch.prom", "avadm-log-watch.timer", WATCH),
    }


def log_shipper(_):
    """Whether this node's shipper runs, and what it keeps and has lost of each store's lines."""
    return {
        "unit": state("avadm-log-shipper.service"),
        "counts": figures("avadm-log-shipper.prom", "avadm-log-shipper-stats.timer", SHIPPER),
    }

"""What Kubernetes' API answers to root."""

from __future__ import absolute_import

import calendar
import json
import re
import time

from .system import must

KUBECONFIG = "/root/.kube/config"


def moment(text):
    """Return epoch seconds of 20261122T131500Z or of 2026-11-22T13:15:00Z; None for anything else."""
    try:
        return calendar.timegm(time.strptime(re.sub(r"[-:]", "", text or ""), "%Y%m%dT%H%M%SZ"))
    except ValueError:
        return None


def kubectl(*words):
    """Return what the API answers to root."""
    return must(["kubectl", "--kubeconfig=" + KUBECONFIG, "--request-timeout=15s"] + list(words))


def listed(path):
    """Return the objects of a list of the API."""
    return json.loads(kubectl("get", "--raw=" + path))["items"] or []

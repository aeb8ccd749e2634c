"""What the doctor asks of Prometheus."""

from __future__ import absolute_import

import json

from .services import numbers
from .system import LONG_LINE, fetch


def prometheus(params):
    """Targets that are down, alerts that fire, and what Prometheus says of its own database."""
    tls = params["metrics_tls"]
    base = "%s://%s:9090" % ("https" if tls else "http", params["address"])
    targets = json.loads(fetch(base + "/api/v1/targets?state=active", 15, tls))["data"]["activeTargets"]
    alerts = json.loads(fetch(base + "/api/v1/alerts", 15, tls))["data"]["alerts"]
    names = ("prometheus_tsdb_wal_corruptions_total", "prometheus_tsdb_compactions_failed_total")
    names += ("prometheus_config_last_reload_successful", "prometheus_tsdb_wal_truncations_failed_total")
    down = [t for t in targets if t["health"] == "down"]
    return {
        "targets": len(targets),
        "down": [
            [t["labels"].get("job", ""), t["labels"].get("instance", ""), t.get("lastError", "")[:LONG_LINE]]
            for t in down
        ],
        "firing": [
            {
                "name": a["labels"].get("alertname", ""),
                "severity": a["labels"].get("severity", ""),
                "node": a["labels"].get("node", ""),
                "summary": a["annotations"].get("summary", "")[:LONG_LINE],
                "remedy": a["annotations"].get("remedy", "")[:600],
            }
            for a in alerts
            if a["state"] == "firing"
        ],
        "own": numbers(fetch(base + "/metrics", 15, tls), names),
    }

"""Speaking to Alertmanager on the lab: with its node's own certificate where it asks for one (not with Debian 11)."""

FILES = "/etc/prometheus/tls/alertmanager-server"


def guarded(lab, node):
    return lab.host(node).file(f"{FILES}.crt").exists


def url(lab, node):
    return f"{'https' if guarded(lab, node) else 'http'}://{lab.node(node)['address']}:9093"


def curl(lab, node):
    """Return the beginning of a command that asks on a node which is a member."""
    shown = f" --cacert {FILES}.ca --cert {FILES}.crt --key {FILES}.key" if guarded(lab, node) else ""
    return f"curl -sf --noproxy '*'{shown}"

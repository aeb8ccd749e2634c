# Runs on nodes: python 2.7 and 3.
"""When a member of etcd without data may be made at all: what was bootstrapped once is never recreated by itself."""

from __future__ import absolute_import, division, print_function

import errno
import json
import os
import socket
import ssl

from ansible.module_utils import avadm_bootstrap_mark as marks
from ansible.module_utils.avadm_etcd import MemberError

try:
    from http.client import HTTPException, HTTPSConnection
except ImportError:  # python 2.7
    from httplib import HTTPException, HTTPSConnection

MARK = "etcd"
LEGACY = "done"
"""Identity of a member of which the state only knows that it was installed, by an avadm without marks."""
PEER_S = 5
"""Longest wait for a peer port, seconds."""
REPLACE = (
    "If they are lost for good: `avadm apply etcd --replace %(name)s`, or by hand playbooks/etcd-replace.yml with"
    " -e member=%(name)s; the others must be well. If most members are lost: restore a snapshot"
    " (docs/how-to/back-up-and-restore.md)."
)


def has_data(folder):
    """Return whether there is a log, as etcd judges it: a start that failed leaves the folder without one."""
    wal = os.path.join(folder, "member", "wal")
    return os.path.isdir(wal) and any(name.endswith(".wal") for name in os.listdir(wal))


def refuse_lost(given, cluster, members, own):
    """Refuse a member that was bootstrapped, unless it may be replaced, or was taken out of that cluster on purpose.

    Args:
        given: arguments of avadm_etcd_member.
        cluster: the other members; ``members`` is what they know, ``own`` this one among them.
    """
    reply = marks.known(MARK, given["name"], given["bootstrapped"], given["marks"])
    if reply is None or (members is None and given["again"]):
        return
    if members is not None:
        if given["replace"]:
            return
        # Who was removed, or removed and then added again, is not in the list, or there without a name.
        out = own is None or not (own.get("name") or own.get("clientURLs"))
        if out and reply in (cluster.id(), LEGACY):
            return
    what = "The member %s of etcd" % given["name"]
    raise MemberError(marks.lost(what, given["data_dir"], reply, REPLACE % {"name": given["name"]}))


def refuse_unproven(given, urls, ask):
    """Refuse a new cluster unless none was bootstrapped and no member can be running: none of the members has answered.

    Args:
        given: arguments of avadm_etcd_member.
        urls: where clients would be answered.
        ask: `peers`.
    """
    if given["bootstrapped"] and not given["again"]:
        raise MemberError(
            "etcd was bootstrapped before (on %s), and none of the other members answers at %s: %s neither joins nor bootstraps"
            " another one. Remedy: bring those back first (`journalctl -u etcd` there), then apply again. If all are"
            " lost: restore a snapshot (docs/how-to/back-up-and-restore.md)."
            % (", ".join(sorted(given["bootstrapped"])), ", ".join(urls), given["name"])
        )
    files = {
        "cacert": given["peer_cacert"] or given["cacert"],
        "cert": given["peer_cert"] or given["cert"],
        "key": given["key"],
    }
    for name, url in sorted(given["first"].items()):
        if url == given["peer_url"]:
            continue
        try:
            report = ask(url, files)
        except MemberError as error:
            raise MemberError(
                "No etcd is bootstrapped while it is unknown whether %s is at work already: %s. Remedy: bring the node"
                " back, or fix what the message says (a firewall, a certificate, its clock); if it is gone for good,"
                " take the role etcd from it in the site file. Then apply again." % (name, error)
            )
        if any(one.get("clientURLs") for one in report or []):
            raise MemberError(
                "No etcd is bootstrapped: %s is a member of one that has been at work, which does not answer its clients."
                " Remedy: see `journalctl -u etcd` there, then apply again." % name
            )


def peers(url, files, timeout=PEER_S):
    """Return the members that a peer port tells of, which it does without a quorum; None where surely no process listens.

    Args:
        url: C(https://ADDRESS:PORT).
        files: C(cacert), C(cert) and C(key) to paths: those that members show each other.
        timeout: seconds.

    Raises:
        MemberError: who is there cannot be determined; the text says why.
    """
    host, _colon, port = url.partition("//")[2].rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout).close()
    except (OSError, socket.error) as error:
        if error.errno == errno.ECONNREFUSED:
            return None
        raise MemberError("%s: %s" % (url, error))
    try:
        context = ssl.create_default_context(cafile=files["cacert"])
        context.load_cert_chain(files["cert"], files["key"])
        context.check_hostname = False  # python 2.7 knows no addresses there: looked at below
        asked = HTTPSConnection(host, int(port), timeout=timeout, context=context)
        asked.connect()
        shown = [value for _kind, value in asked.sock.getpeercert().get("subjectAltName", ())]
        if host not in shown:
            raise MemberError("%s: the certificate is of %s" % (url, ", ".join(shown) or "nobody"))
        asked.request("GET", "/members")
        reply = asked.getresponse()
        if reply.status != 200:
            raise MemberError("%s: HTTP status %d" % (url, reply.status))
        return json.loads(reply.read().decode("utf-8"))
    except (IOError, OSError, HTTPException, ValueError) as error:
        raise MemberError("%s: %s" % (url, error))

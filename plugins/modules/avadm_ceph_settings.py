#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_ceph_settings
short_description: Apply ceph.conf settings to running Ceph daemons without a restart
description:
  - Daemons read ceph.conf when they start. This asks each daemon of the node, over its own socket, what it
    runs with, and sets what differs. It needs no key, and a node without running daemons has nothing to do.
  - A setting that the daemon takes only at its start is named in a warning and in I(restart); nothing is
    restarted.
options:
  config: {description: "Sections of ceph.conf, section to option to value.", type: dict, required: true}
  sockets: {description: Folder of the daemons' sockets., type: path, default: /var/run/ceph}
"""

EXAMPLES = r"""
- name: Give running daemons their settings
  avadm_ceph_settings:
    config:
      mon: {mon_data_avail_warn: 10}
"""

RETURN = r"""
set:
  description: "What was set, as C(DAEMON: OPTION = VALUE (was OLD))."
  type: list
  returned: success
restart:
  description: "What waits for a restart, as C(DAEMON: OPTION = VALUE (runs with OLD))."
  type: list
  returned: success
unknown:
  description: "Options that a daemon does not know, as C(DAEMON: OPTION)."
  type: list
  returned: success
"""

import glob
import json
import os
import re
import socket
import struct

from ansible.module_utils.basic import AnsibleModule

NAME = re.compile(r"^ceph-(mon|mgr|osd|mds)\.(.+)\.asok$")
AT_START = frozenset(["crush_location", "keyring"])
"""Read when an OSD starts and shown nowhere; the CRUSH tree is what tells whether it took."""
TIMEOUT = 20  # seconds that a busy daemon may take to answer


def ask(path, **command):
    """Send a command to a daemon's socket and return its answer as text.

    Raises:
        IOError: no process listens, or the answer broke off.
    """
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    peer.settimeout(TIMEOUT)
    try:
        peer.connect(path)
        peer.sendall(json.dumps(command).encode() + b"\0")
        (length,) = struct.unpack(">I", receive(peer, 4))
        return receive(peer, length).decode("utf-8", "replace")
    finally:
        peer.close()


def receive(peer, length):
    """Return exactly so many bytes."""
    parts = b""
    while len(parts) < length:
        part = peer.recv(length - len(parts))
        if not part:
            raise IOError("the answer broke off")
        parts += part
    return parts


def plain(value):
    """Return a value so that two spellings of one compare equal: 0.05 and 0.050000, True and true."""
    text = str(value).strip().lower()
    try:
        return float({"true": 1, "false": 0}.get(text, text))
    except ValueError:
        return text


def wanted(config, kind, name):
    """Return the options of one daemon: those of [global], [mon] and [mon.a], the nearer one winning."""
    options = {}
    for section in ("global", kind, "%s.%s" % (kind, name)):
        options.update(config.get(section) or {})
    return {option: value for option, value in options.items() if option not in AT_START}


class Settings(object):
    """The running daemons of this node.

    Args:
        ask: callable(path, **command) -> answer as text.
    """

    def __init__(self, ask, config, check_mode=False):
        self.ask, self.config, self.check_mode = ask, config, check_mode
        self.set, self.restart, self.unknown = [], [], []

    def ensure(self, paths):
        """Set what differs on every daemon that listens."""
        for path in sorted(paths):
            match = NAME.match(os.path.basename(path))
            if not match:
                continue
            try:
                self.daemon(path, *match.groups())
            except (IOError, OSError, socket.error):  # a socket that a dead daemon left, or it just ends
                continue

    def daemon(self, path, kind, name):
        """Set what differs on one daemon."""
        runs = json.loads(self.ask(path, prefix="config show"))
        for option, value in sorted(wanted(self.config, kind, name).items()):
            label = "%s.%s: %s" % (kind, name, option)
            if option not in runs:
                self.unknown.append(label)
            elif plain(runs[option]) != plain(value):
                self.one(path, label, option, value, runs[option])

    def one(self, path, label, option, value, before):
        """Set one option; the daemon says whether it takes it while it runs."""
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if self.check_mode:
            self.set.append("%s = %s (was %s)" % (label, text, before))
            return
        answer = self.ask(path, prefix="config set", var=option, val=[text])
        after = json.loads(self.ask(path, prefix="config get", var=option))[option]
        if after != before:
            self.set.append("%s = %s (was %s)" % (label, text, before))
        # "(not observed, change may require restart)": the value is stored, and nothing in the daemon looks at it.
        if "require restart" in answer or (after == before and '"success"' not in answer):
            self.restart.append("%s = %s (runs with %s)" % (label, text, before))


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "config": {"type": "dict", "required": True},
            "sockets": {"type": "path", "default": "/var/run/ceph"},
        },
        supports_check_mode=True,
    )
    work = Settings(ask, module.params["config"], module.check_mode)
    work.ensure(glob.glob(os.path.join(module.params["sockets"], "*.asok")))
    if work.restart:
        module.warn(
            "These settings wait for a restart of their daemon, one at a time: %s" % "; ".join(work.restart)
        )
    if work.unknown:
        module.warn("Ceph does not know these options: %s" % "; ".join(work.unknown))
    module.exit_json(changed=bool(work.set), set=work.set, restart=work.restart, unknown=work.unknown)


if __name__ == "__main__":
    main()

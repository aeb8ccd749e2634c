#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_ceph_mon_store
short_description: Create a monitor's store, once
description:
  - Makes the store from a monitor map that names every monitor of the site, so that all of them form the
    quorum at once and none has to join.
  - The store is made beside its place and renamed when it is whole, so a run that was killed leaves no
    half-made store where the daemon would find it; what such a run left is recreated.
  - A store that exists is never touched.
  - A monitor that was bootstrapped, by the mark on this node or by I(bootstrapped), and has no store has lost it; nothing is made
    unless I(replace) allows it. Once any monitor was bootstrapped, a store is only made while the others form a quorum, since
    new monitors alone would make an empty cluster.
options:
  name: {description: The monitor's name., type: str, required: true}
  fsid: {description: The cluster's id., type: str, required: true}
  addresses:
    description:
      - C(monmaptool) arguments that name every monitor, e.g. "--add, node1, 10.0.0.1:6789".
    type: list
    elements: str
    required: true
  keys:
    description: Keys that the store starts with; C(mon.) is one of them.
    type: list
    elements: dict
    required: true
    suboptions:
      entity: {description: Name., type: str, required: true}
      key: {description: The key., type: str, required: true}
      caps: {description: Service to capability., type: dict, required: true}
  bootstrapped: {description: Bootstrapped monitors and their fsid; from the site's state., type: dict, default: {}}
  replace: {description: Whether a monitor that lost its store may be recreated., type: bool, default: false}
  marks: {description: Folder of the mark that says that it was bootstrapped., type: path, default: /var/lib/avadm/founded}
  root: {description: Folder of all stores., type: path, default: /var/lib/ceph/mon}
"""

EXAMPLES = r"""
- name: Create the monitor store
  avadm_ceph_mon_store:
    name: node1
    fsid: "{{ vault_ceph_fsid }}"
    addresses: [--add, node1, "10.0.0.1:6789"]
    keys: [{entity: mon., key: "{{ vault_ceph_key_mon }}", caps: {mon: allow *}}]
"""

RETURN = r"""
store:
  description: Where the store lies.
  type: str
  returned: success
"""

import json
import os
import pwd
import shutil
import tempfile

from ansible.module_utils import avadm_bootstrap_mark as marks
from ansible.module_utils.avadm_ceph import CephError, SecretFile, keyring, runner, tail
from ansible.module_utils.basic import AnsibleModule

MARK = "mon"


def state(store):
    """Return "absent", "whole", or "strange" (something that is not a monitor's store)."""
    if not os.path.isdir(store) or not os.listdir(store):
        return "absent"
    whole = os.path.isdir(os.path.join(store, "store.db")) and os.path.isfile(os.path.join(store, "keyring"))
    return "whole" if whole else "strange"


def call(run, argv):
    """Run a command or raise CephError."""
    rc, out, err = run(argv, None)
    if rc != 0:
        raise CephError("`%s` failed (%d): %s" % (" ".join(argv[:2]), rc, tail(err or out) or "no output"))


def make(run, params, user):
    """Make the store in a folder beside its place and rename it there."""
    store = os.path.join(params["root"], "ceph-" + params["name"])
    half = os.path.join(params["root"], ".avadm-new-" + params["name"])
    if os.path.isdir(half):  # a run was killed
        shutil.rmtree(half)
    os.mkdir(half, 0o750)
    work = tempfile.mkdtemp(prefix="avadm-")
    try:
        os.chown(half, user.pw_uid, user.pw_gid)
        os.chmod(work, 0o755)  # it holds only the map; the daemon's user reads it there
        monmap = os.path.join(work, "monmap")
        call(run, ["monmaptool", "--create", "--fsid", params["fsid"]] + params["addresses"] + [monmap])
        with SecretFile(keyring(params["keys"]), user.pw_uid, user.pw_gid) as keys:
            call(
                run,
                ["ceph-mon", "--mkfs", "--id", params["name"], "--mon-data", half, "--monmap", monmap]
                + ["--keyring", keys, "--fsid", params["fsid"], "--setuser", "ceph", "--setgroup", "ceph"],
            )
    finally:
        shutil.rmtree(work)
    if state(half) != "whole":
        raise CephError("`ceph-mon --mkfs` left no whole store in %s" % half)
    if os.path.isdir(store):  # empty, as state() reported
        os.rmdir(store)
    os.rename(half, store)


def refuse_lost(run, params, store):
    """Refuse to make a store where one was lost, or where the cluster that it belongs to cannot be asked.

    Raises:
        CephError: with the remedy.
    """
    reply = marks.known(MARK, params["name"], params["bootstrapped"], params["marks"])
    if reply is None and not params["bootstrapped"]:
        return
    if reply is not None and not params["replace"]:
        remedy = (
            "If it is lost for good and the others are well: `avadm apply ceph --replace %s`. If all stores are lost: they"
            " can be made again from the OSDs (docs/how-to/change-a-site.md)" % params["name"]
        )
        raise CephError(marks.lost("monitor %s" % params["name"], store, reply, remedy))
    found = quorum(run, params)
    if found != params["fsid"]:
        raise CephError(
            "the site's monitors were bootstrapped before (%s) and give no quorum that could be asked (found %s, wanted %s):"
            " a new one without them would make an empty cluster. Remedy: bring those back first, then apply again"
            % (", ".join(sorted(params["bootstrapped"])) or reply, found or "no monitor", params["fsid"])
        )


def quorum(run, params):
    """Return the fsid that the monitors in the quorum tell; "" where no server answers."""
    admin = [one for one in params["keys"] if one["entity"] == "client.admin"]
    with SecretFile(keyring(admin)) as keys:
        words = ["--connect-timeout", "20", "--name", "client.admin", "--keyring", keys, "--format", "json"]
        rc, out, _err = run(["ceph"] + words + ["quorum_status"], None)
    try:
        return json.loads(out)["monmap"]["fsid"] if rc == 0 else ""
    except (ValueError, KeyError, TypeError):
        return ""


def ensure(run, params, user, check_mode=False):
    """Make the store if it is absent; return whether it was.

    Raises:
        CephError: the place holds something else, or ceph's tools failed.
    """
    store = os.path.join(params["root"], "ceph-" + params["name"])
    found = state(store)
    if found == "strange":
        raise CephError(
            "%s holds something that is not a monitor's store (wanted: store.db and keyring, or nothing). "
            "Look at it, and move it away if it is of no use" % store
        )
    if found == "absent":
        refuse_lost(run, params, store)
    if found == "absent" and not check_mode:
        make(run, params, user)
    return found == "absent"


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "fsid": {"type": "str", "required": True},
            "addresses": {"type": "list", "elements": "str", "required": True},
            "keys": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "no_log": False,
                "options": {
                    "entity": {"type": "str", "required": True},
                    "key": {"type": "str", "required": True, "no_log": True},
                    "caps": {"type": "dict", "required": True},
                },
            },
            "bootstrapped": {"type": "dict", "default": {}},
            "replace": {"type": "bool", "default": False},
            "marks": {"type": "path", "default": marks.FOLDER},
            "root": {"type": "path", "default": "/var/lib/ceph/mon"},
        },
        supports_check_mode=True,
    )
    params = module.params
    try:
        user = None if module.check_mode else pwd.getpwnam("ceph")
        changed = ensure(runner(module), params, user, module.check_mode)
    except KeyError:
        module.fail_json(msg="There is no user ceph on this node. Install ceph-common first.")
    except (CephError, IOError, OSError) as error:
        module.fail_json(msg="Cannot make the store of monitor %s: %s." % (params["name"], error))
    module.exit_json(changed=changed, store=os.path.join(params["root"], "ceph-" + params["name"]))


if __name__ == "__main__":
    main()

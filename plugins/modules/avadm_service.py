#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_service
short_description: Deploy a service in one task, its user, folders, files and units
description:
  - Installs the packages, creates the user and the folders, writes the files, starts the unit and its timers, and waits until it
    is ready.
  - The unit is restarted or reloaded for each of these files that is newer than what runs, so that a run that was killed
    between the two is made good by the next one. See M(avadm_daemon), whose options it has as well.
  - The action plug-in of this name reads files and templates of the role, pushes artifacts as M(avadm_artifact) does, and has
    nodes take turns.
options:
  name: {description: "As of avadm_daemon. Without one nothing is run, there are files alone.", type: str}
  state:
    description:
      - As of avadm_daemon. A service that is to stand still is stopped before its files are written or removed; its timers are
        services of their own there.
    type: str
    choices: [running, stopped]
    default: running
  packages:
    description: Its packages, as of avadm_package. They are there before the folders and files.
    type: list
    elements: str
    default: []
  upgrade:
    description: Packages that are brought to another version, as of avadm_package; C(avadm upgrade) alone gives them.
    type: dict
    default: {}
  packages_last:
    description:
      - Whether the files that belong to no one in particular are written before the packages are installed, which start what they
        bring or come from where a file says. Folders, artifacts and files with an owner, whom a package may make, come after.
    type: bool
    default: false
  user:
    description: The system user that it runs as.
    type: dict
    suboptions:
      name: {description: Its name and that of its group., type: str, required: true}
      home: {description: Its home, which is not made., type: path, required: true}
      shell: {description: Its shell., type: path, default: /usr/sbin/nologin}
  folders:
    description: Folders that are there before the files.
    type: list
    elements: dict
    default: []
    suboptions:
      path: {description: Absolute path., type: path, required: true}
      mode: {description: "Octal mode, quoted.", type: str, default: "0755"}
      owner: {description: "USER or USER:GROUP; left as made if absent.", type: str}
  files:
    description:
      - Its files, its units among them, as of avadm_files, written in this order. A timer that is among them is run.
      - Lists in the list are taken as their entries.
    type: list
    elements: dict
    default: []
    suboptions:
      path: {description: Absolute path. Missing folders are made., type: path, required: true}
      content: {description: The whole content., type: str}
      secret: {description: The whole content of a file that holds a secret; hidden in results., type: str}
      base64: {description: The whole content in base64; hidden likewise., type: str}
      src: {description: "Name of a file in the role's files, instead of I(content).", type: str}
      template: {description: "Name of a template in the role's templates, instead of I(content).", type: str}
      link: {description: "Where a symbolic link points, instead of I(content).", type: str}
      artifact: {description: "A file of the cache, as of avadm_artifact, instead of I(content).", type: dict}
      each:
        description:
          - A list of words, or a dictionary; there is a file for each word, or key, which takes the place of C({}) in I(path),
            I(src) and I(template). What a dictionary has is the content; what is no text is written as JSON.
        type: raw
      as:
        description: What the values of the dictionary of I(each) are, in place of the content.
        type: str
        choices: [content, secret, base64, artifact]
        default: content
      mode: {description: "Octal mode, quoted.", type: str, default: "0644"}
      owner: {description: "USER or USER:GROUP; left as made (root) if absent.", type: str}
      state: {description: Whether the file is there., type: str, choices: [present, absent], default: present}
      on_change:
        description:
          - What the service needs when the file changes. Absent, this is a restart; nothing for other units' files; nothing for a
            timer but for its own file.
        type: str
        choices: [restart, reload, none]
      validate: {description: "Program that judges the file, C(%s), before it takes its place.", type: str}
  rolling:
    description: On how many nodes at once what runs may be restarted or reloaded; 0 for all of them.
    type: int
    default: 0
  restart_on: {description: "Further files, as of avadm_daemon.", type: list, elements: str, default: []}
  reload_on: {description: "Further files, as of avadm_daemon.", type: list, elements: str, default: []}
  settings: {description: As of avadm_daemon., type: str}
  ready_url: {description: As of avadm_daemon., type: str}
  ready_tls:
    description: As of avadm_daemon.
    type: dict
    suboptions:
      ca: {description: Authority., type: path, required: true}
      certificate: {description: What is shown., type: path}
      key: {description: Its private key., type: path}
      anybody: {description: As of avadm_daemon., type: bool, default: false}
  health: {description: As of avadm_daemon., type: list, elements: str, default: []}
  own: {description: As of avadm_daemon., type: str, default: ""}
  peers: {description: "As of avadm_daemon; with I(rolling).", type: list, elements: str, default: []}
  gate: {description: The plug-in sets it., type: list, elements: str, default: []}
  timeout: {description: As of avadm_daemon., type: int, default: 60}
  login: {description: User of the ssh connection; the plug-in sets it., type: str, default: root}
  pushed: {description: Artifacts that have been pushed; the plug-in sets it., type: list, elements: path, default: []}
  turn: {description: Whether it is this node's turn; the plug-in sets it., type: bool, default: false}
"""

EXAMPLES = r"""
- name: Run CoreDNS
  avadm_service:
    name: coredns
    user: {name: coredns, home: /etc/coredns}
    files:
      - {path: /usr/local/bin/coredns, artifact: "{{ coredns_program }}", mode: "0755"}
      - {path: /etc/coredns/client.key, secret: "{{ coredns_key }}", mode: "0600", owner: coredns}
      - {path: /etc/coredns/Corefile, template: Corefile.j2}
      - {path: /etc/systemd/system/coredns.service, template: coredns.service.j2}
    ready_url: http://127.0.0.1:8153/ready
    rolling: 1
"""

RETURN = r"""
actions:
  description: What was done, in order; login, install, folder, and what avadm_daemon says.
  type: list
  returned: success
paths:
  description: The files that were (in check mode would be) written or removed.
  type: list
  returned: success
because:
  description: The files that called for the restart or reload.
  type: list
  returned: success
keeps:
  description: Unit, C(restart) or C(reload), and path of each file that the unit is restarted or reloaded for.
  type: list
  returned: success
missing:
  description: Artifacts that the node lacks, with where each is to be pushed; then nothing else was done.
  type: dict
  returned: success
waits:
  description: Whether what runs has to be restarted or reloaded in its turn; then nothing else was done.
  type: bool
  returned: success
"""

from ansible.module_utils import avadm_daemon, avadm_files
from ansible.module_utils.avadm_service import TROUBLES, Service
from ansible.module_utils.basic import AnsibleModule

FILE = {
    "src": {"type": "str"},
    "template": {"type": "str"},
    "artifact": {"type": "dict"},
    "each": {"type": "raw"},
    "as": {"type": "str", "choices": ["content", "secret", "base64", "artifact"], "default": "content"},
    "on_change": {"type": "str", "choices": ["restart", "reload", "none"]},
    "validate": {"type": "str"},
}
FOLDER = {
    "path": {"type": "path", "required": True},
    "mode": {"type": "str", "default": "0755"},
    "owner": {"type": "str"},
}
USER = {
    "name": {"type": "str", "required": True},
    "home": {"type": "path", "required": True},
    "shell": {"type": "path", "default": "/usr/sbin/nologin"},
}
OPTIONS = {
    "name": {"type": "str"},
    "packages": {"type": "list", "elements": "str", "default": []},
    "packages_last": {"type": "bool", "default": False},
    "upgrade": {"type": "dict", "default": {}},
    "user": {"type": "dict", "options": USER},
    "folders": {"type": "list", "elements": "dict", "default": [], "options": FOLDER},
    "files": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": dict(avadm_files.OPTIONS, **FILE),
    },
    "rolling": {"type": "int", "default": 0},
    "login": {"type": "str", "default": "root"},
    "pushed": {"type": "list", "elements": "path", "default": []},
    "turn": {"type": "bool", "default": False},
}


def ensure(module, check):
    """Return the service with what came of it, or with what the plug-in has to do first."""
    given, service = module.params, Service(module, check)
    missing = service.lacking()
    if missing and not check:
        return service, {"changed": False, "missing": missing}
    if given["rolling"] and not given["turn"] and not check:
        look = Service(module, True).bring()
        if look.get("interrupts"):
            waits = {key: look[key] for key in ("answering", "serving", "because")}
            return service, dict(waits, changed=False, waits=True, pushed=given["pushed"])
    return service, service.bring()


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(argument_spec=dict(avadm_daemon.OPTIONS, **OPTIONS), supports_check_mode=True)
    try:
        service, result = ensure(module, module.check_mode)
    except TROUBLES as error:
        module.fail_json(msg=str(error))
    except (IOError, OSError, KeyError) as error:
        module.fail_json(
            msg="%s is not available: %s. Remedy: see the space and the rights on this node."
            % (module.params["name"] or "What belongs on this node", error)
        )
    if module._diff:
        result["diff"] = service.files.diffs
    module.exit_json(**result)


if __name__ == "__main__":
    main()

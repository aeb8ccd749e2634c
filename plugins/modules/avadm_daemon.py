#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_daemon
short_description: Start a daemon, or restart it where its files have changed
description:
  - Enables and starts a systemd unit; restarts or reloads it if one of its files is newer than what runs.
  - It compares the files' times with those of the process, so that a run that was killed between writing a
    file and the handler that would have restarted the daemon is made good by the next run. Handlers cannot
    do that.
  - Waits until the daemon answers, and fails with the unit's last log lines if it does not.
options:
  name:
    description: The systemd unit, without C(.service); other kinds (a timer) with their ending.
    type: str
    required: true
  state:
    description: Whether it shall run; a unit that is not there is stopped.
    type: str
    choices: [running, stopped]
    default: running
  restart_on:
    description: Files (or folders, whose direct entries count) that need a restart when they change.
    type: list
    elements: str
    default: []
  reload_on:
    description: Files (or folders, whose direct entries count) for which a reload is enough.
    type: list
    elements: str
    default: []
  settings:
    description:
      - Text of C(/etc/systemd/system/NAME.service.d/avadm.conf), our settings beside the package's own unit.
      - Left alone if absent.
    type: str
  ready_url:
    description: URL that answers 200 once the daemon serves.
    type: str
  health:
    description: Command that exits 0 while a daemon serves at the place that is its last argument.
    type: list
    elements: str
    default: []
  own:
    description: That place of this daemon, which is waited for; nothing is waited for where it is empty.
    type: str
    default: ""
  peers:
    description:
      - The places of the same daemon on other nodes, or what all of them serve together. In check mode, where this one would be
        restarted or reloaded, they are asked, and those that serve are returned.
    type: list
    elements: str
    default: []
  gate:
    description:
      - Those of I(peers) that served before any was interrupted. This daemon, if it runs, is restarted or reloaded only once
        all of them serve, so that one that came back bad is not followed by the next, and one that was down before is not
        waited for.
    type: list
    elements: str
    default: []
  ready_tls:
    description:
      - Files for a daemon that asks who speaks to it, C(ca), C(certificate) and C(key) in PEM, where I(ready_url) is https.
      - With C(ca) alone this node has nothing to show to it; it is ready as soon as it refuses who shows no certificate, or,
        with C(anybody), once it answers 200 to who shows none.
    type: dict
    suboptions:
      ca: {description: Authority of the daemon's certificate., type: path, required: true}
      certificate: {description: What is shown., type: path}
      key: {description: Its private key., type: path}
      anybody: {description: Whether it answers who shows no certificate., type: bool, default: false}
  timeout:
    description: Seconds to wait for I(ready_url), I(own) and I(gate).
    type: int
    default: 60
"""

EXAMPLES = r"""
# Nodes whose gateway has to be restarted do it one after the other, those where it does not run yet at once.
- name: Check whether the gateway needs a restart
  avadm_daemon: &daemon
    name: gateway
    restart_on: [/etc/gateway.crt]
    health: [gateway-answers]
    own: 10.0.0.5
    peers: [10.0.0.6, 10.0.0.7]
  check_mode: true
  changed_when: false
  register: _gateway

- name: Enable and start the gateway
  avadm_daemon:
    <<: *daemon
    gate: "{{ _gateway.answering }}"
  throttle: "{{ 1 if _gateway.interrupts else 0 }}"

- name: Run Prometheus
  avadm_daemon:
    name: prometheus
    restart_on: [/etc/default/prometheus]
    reload_on: [/etc/prometheus/prometheus.yml, /etc/prometheus/rules]
    ready_url: http://10.0.0.5:9090/-/ready
"""

RETURN = r"""
actions:
  description: What was done, in order; any of settings, daemon-reload, enable, start, restart, reload,
    stop, disable.
  type: list
  returned: success
interrupts:
  description: Whether what runs was (in check mode would be) restarted or reloaded.
  type: bool
  returned: success
answering:
  description: In check mode those of I(peers) that serve, where this daemon would be interrupted.
  type: list
  returned: success
serving:
  description: In check mode whether this one serves at I(own), where it would be interrupted.
  type: bool
  returned: success
because:
  description: The files that called for the restart or reload.
  type: list
  returned: success
"""

from ansible.module_utils.avadm_daemon import OPTIONS, DaemonError, bring, daemon_of
from ansible.module_utils.basic import AnsibleModule


def main():
    """Run as an Ansible module."""
    module = AnsibleModule(argument_spec=OPTIONS, supports_check_mode=True)
    daemon = daemon_of(module, module.params, module.check_mode)
    try:
        result = bring(daemon, module.params)
    except DaemonError as error:
        module.fail_json(msg=str(error), actions=daemon.actions)
    if module._diff and daemon.diffs:
        result["diff"] = daemon.diffs
    module.exit_json(**result)


if __name__ == "__main__":
    main()

#!/usr/bin/python
# Runs on nodes: python 2.7 and 3.
from __future__ import absolute_import, division, print_function

DOCUMENTATION = r"""
---
module: avadm_ceph_mgr_module
short_description: Enable or disable Ceph manager modules
description:
  - Waits for an active manager, puts the modules right, and waits until the services that they offer answer
    to C(ceph mgr services), since a change restarts the manager.
  - A module that this release always runs (e.g. C(balancer) from 14 on) counts as enabled; one that it does
    not know counts as disabled.
  - C(balancer) also has to be switched on, which releases before 15 leave undone. Where it is idle it gets the mode
    C(upmap), for which clients must be of luminous (12) or later.
options:
  enabled: {description: Modules to run., type: list, elements: str, default: []}
  disabled: {description: Modules not to run., type: list, elements: str, default: []}
  services: {description: Services that must be offered afterwards., type: list, elements: str, default: []}
  timeout: {description: Seconds to wait for the manager and for each service., type: int, default: 60}
"""

EXAMPLES = r"""
- name: Offer metrics
  avadm_ceph_mgr_module:
    enabled: [prometheus]
    services: [prometheus]
"""

RETURN = r"""
balancing:
  description: Whether this run switched the balancer on.
  type: bool
  returned: success
enabled:
  description: Modules that this run enabled.
  type: list
  returned: success
disabled:
  description: Modules that this run disabled.
  type: list
  returned: success
"""

from ansible.module_utils.avadm_ceph import Ceph, CephError, runner, wait
from ansible.module_utils.basic import AnsibleModule


def active(ceph):
    """Return None if a manager is active, else what is missing."""
    try:
        dump = ceph.json("mgr", "dump")
    except CephError as error:
        return str(error)
    return None if dump.get("available") else "no manager is active"


def offered(ceph, services):
    """Return None if the active manager offers all services, else what is missing."""
    missing = sorted(set(services) - set(ceph.json("mgr", "services")))
    return "the active manager does not offer %s" % ", ".join(missing) if missing else None


def answering(ceph, status):
    """Return None and fill `status` if the balancer tells its state, else what is missing; it starts with a delay."""
    try:
        status.update(ceph.json("balancer", "status"))
    except CephError as error:
        return str(error)
    return None


def balance(ceph, timeout, check_mode=False, waiter=wait):
    """Switch an idle balancer on; return whether it was idle."""
    status = {}
    missing = waiter(lambda: answering(ceph, status), timeout)
    if missing:
        raise CephError("%s after %d s" % (missing, timeout))
    if status["active"] and status["mode"] != "none":
        return False
    if not check_mode:
        ceph.text("osd", "set-require-min-compat-client", "luminous")
        ceph.text("balancer", "mode", "upmap")
        ceph.text("balancer", "on")
    return True


def ensure(ceph, params, check_mode=False, waiter=wait):
    """Put the modules right; return (enabled, disabled) by this run and whether it switched the balancer on."""
    missing = waiter(lambda: active(ceph), 0 if check_mode else params["timeout"])
    if missing:
        if check_mode:
            return list(params["enabled"]), [], "balancer" in params["enabled"]
        raise CephError("%s after %d s" % (missing, params["timeout"]))
    known = ceph.json("mgr", "module", "ls")
    running = set(known["enabled_modules"]) | set(known.get("always_on_modules", []))
    enable = [name for name in params["enabled"] if name not in running]
    disable = [name for name in params["disabled"] if name in known["enabled_modules"]]
    if not check_mode:
        for name in enable:
            ceph.text("mgr", "module", "enable", name)
        for name in disable:
            ceph.text("mgr", "module", "disable", name)
        missing = waiter(lambda: offered(ceph, params["services"]), params["timeout"])
        if missing:
            raise CephError("%s after %d s" % (missing, params["timeout"]))
    if "balancer" not in params["enabled"]:
        return enable, disable, False
    if check_mode and "balancer" in enable:
        return enable, disable, True
    return enable, disable, balance(ceph, params["timeout"], check_mode, waiter)


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "enabled": {"type": "list", "elements": "str", "default": []},
            "disabled": {"type": "list", "elements": "str", "default": []},
            "services": {"type": "list", "elements": "str", "default": []},
            "timeout": {"type": "int", "default": 60},
        },
        supports_check_mode=True,
    )
    try:
        enabled, disabled, balancing = ensure(Ceph(runner(module)), module.params, module.check_mode)
    except CephError as error:
        module.fail_json(
            msg="Cannot keep the manager's modules: %s. See `systemctl status ceph-mgr@NAME` on mgr nodes."
            % error
        )
    module.exit_json(
        changed=bool(enabled or disabled or balancing),
        enabled=enabled,
        disabled=disabled,
        balancing=balancing,
    )


if __name__ == "__main__":
    main()

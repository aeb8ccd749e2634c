"""Lets tests import our Ansible modules and module utilities as Ansible does on a node."""

import tests.unit.fakes.running  # noqa: F401

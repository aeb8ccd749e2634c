"""Lets tests import our Ansible modules and module utilities as Ansible does on a node."""

import sys
from pathlib import Path

import ansible.module_utils

PLUGINS = Path(__file__).parents[3] / "plugins"
sys.path.insert(0, str(PLUGINS / "modules"))
ansible.module_utils.__path__.append(str(PLUGINS / "module_utils"))

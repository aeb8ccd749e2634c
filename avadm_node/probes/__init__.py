"""Functions that the controller or a module of Ansible calls on a node."""

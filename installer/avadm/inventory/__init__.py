"""The Ansible inventory of a site: variables, secrets, files."""

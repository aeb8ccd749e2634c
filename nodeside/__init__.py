"""Programs and functions that run on nodes: Python 2.7 and 3, the standard library alone.

The controller's way to call one is runner/ask.py. Modules import one another relatively, so that Ansible's modules have them as
`ansible.module_utils.nodeside` (a link). docs/explanation/architecture.md.
"""

"""Programs and functions that run on nodes: Python 2.7 and 3, the standard library alone.

`probes` are functions that are called on a node, `agents` programs that stay there. The controller calls a probe by
remote/call.py. Modules import one another relatively, so that Ansible's modules have them as `ansible.module_utils.avadm_node`
(a link). docs/explanation/architecture.md.
"""

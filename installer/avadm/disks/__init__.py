"""The nodes' disks: list, approve, erase; all judging is that of plugins/module_utils (docs/disk-safety.md)."""

"""The nodes' disks: list, approve, erase; all judging is that of plugins/module_utils (docs/explanation/disk-safety.md)."""

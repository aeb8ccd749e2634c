"""The component ceph."""

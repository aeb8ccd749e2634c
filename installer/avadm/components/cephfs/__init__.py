"""The component cephfs."""

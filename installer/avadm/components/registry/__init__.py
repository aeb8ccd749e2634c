"""The component registry."""

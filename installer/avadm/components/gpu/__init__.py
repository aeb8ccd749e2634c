"""The component gpu."""

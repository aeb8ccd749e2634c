"""The component nodes."""

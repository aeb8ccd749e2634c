"""The component volumes."""

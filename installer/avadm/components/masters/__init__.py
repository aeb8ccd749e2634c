"""The component masters."""

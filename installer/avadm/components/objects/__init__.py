"""The component objects."""

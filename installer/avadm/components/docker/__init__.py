"""The component docker."""

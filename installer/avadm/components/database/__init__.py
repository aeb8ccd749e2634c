"""The component database."""

"""The component ava."""

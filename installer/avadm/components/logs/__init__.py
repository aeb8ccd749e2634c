"""The component logs."""

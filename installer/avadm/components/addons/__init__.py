"""The component addons."""

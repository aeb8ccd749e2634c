"""The component base."""

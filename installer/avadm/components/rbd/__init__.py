"""The component rbd."""

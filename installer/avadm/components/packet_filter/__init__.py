"""The component packet_filter."""

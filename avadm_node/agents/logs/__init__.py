"""What logs say, and what becomes of them, as metrics."""

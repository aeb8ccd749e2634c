"""What the doctor asks of a node; nothing is changed."""

"""The operator: what the database decided becomes pods, and what pods do is told to the database."""

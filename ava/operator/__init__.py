"""The operator: what the database decided becomes pods, and what pods do is reported to the database."""

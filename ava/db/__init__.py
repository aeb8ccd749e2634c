"""The database: who may have what, who has it, and what is to be done."""

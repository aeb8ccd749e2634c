"""The component database_backup."""

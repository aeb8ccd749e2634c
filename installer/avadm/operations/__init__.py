"""Operations of day two: PostgreSQL."""

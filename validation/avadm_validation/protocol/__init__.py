"""How a verdict is made: data, statistics, criteria, evidence, verification (acceptance.md 2.3)."""

"""MA2H v0.5, a public protocol between agents and people: a thin face over questions and messages."""

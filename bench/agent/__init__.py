"""What search is worth to an agent: calls and tokens until the lines that answer are in its context."""

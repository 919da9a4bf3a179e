"""How `box`, the table of word vectors in the wheel, is made; README.md tells it step by step."""

"""Questions about books of rules, with the entries that answer them."""

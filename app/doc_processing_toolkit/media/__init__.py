"""Media and files: how they come in, and what a save and a restore do with them."""

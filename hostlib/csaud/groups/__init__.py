"""What users call: the communicator and its groups, what they share, and who looks after them."""

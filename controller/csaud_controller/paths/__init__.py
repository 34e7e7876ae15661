"""What can carry packets, which ways lead where, and what hosts tell of theirs."""

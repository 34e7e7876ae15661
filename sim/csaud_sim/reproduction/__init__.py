"""The claim and all that belongs to it, run by one command into one page."""

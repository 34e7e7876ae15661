"""What of this machine is there for the library, what is missing, and how to mend it."""

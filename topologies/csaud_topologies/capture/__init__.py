"""`csaud capture`: the frames of a switch's port as a pcapng file."""

"""Host endpoints and P4 switches in one process under virtual time: the real native cores, no sockets."""

"""A lab inside this machine: hosts are network namespaces with a file system and an sshd of their own,
switches are processes that serve P4Runtime over TCP with mutual TLS. All of it ends with its namespaces."""

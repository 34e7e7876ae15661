"""The controller of one fabric: it joins links, desired state and switches, and answers at a socket."""

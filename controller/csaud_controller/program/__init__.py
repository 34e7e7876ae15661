"""The P4 program as the controller knows it: artifacts, kinds of packets, values of what tables hold."""

"""The commands of `csaud net`."""

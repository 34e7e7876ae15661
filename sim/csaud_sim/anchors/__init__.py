"""Each baseline alone against figures that others published of it: `csaud sim anchors`."""

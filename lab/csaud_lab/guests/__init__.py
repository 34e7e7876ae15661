"""A qemu guest with the distribution's own kernel, for what this machine's kernel does not have (RDMA).

The guest needs no disk image: its kernel and a few libraries are unpacked from Debian packages into a cache
(`debs`), an initramfs with the kernel modules is written from them (`initramfs`), and its root is this
machine's root, read-only, under an overlay (`guest`). Its NICs are tap devices (`taps`).
"""

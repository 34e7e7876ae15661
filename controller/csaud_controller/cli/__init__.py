"""Sub-commands of `csaud`: fabric, path, policy, fault, counter, controller. Each module's `app` is one of
them."""

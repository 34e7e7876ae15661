"""HTTP in front of a controller: a REST interface, a page, metrics. A process of its own, which asks the
controller over its control socket: what goes wrong here disturbs nothing there."""

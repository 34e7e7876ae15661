"""From the environment to a communicator."""

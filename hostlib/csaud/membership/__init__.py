"""Who goes on with a job after failures, and who joins it; docs/membership.md says why it is safe."""

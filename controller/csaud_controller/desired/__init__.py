"""What every switch should hold, what was asked for over time, and what of it outlives the controller."""

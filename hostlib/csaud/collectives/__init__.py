"""Collectives as schedules: builders make lists of steps, one executor runs them all."""

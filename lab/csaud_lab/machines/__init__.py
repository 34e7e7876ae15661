"""Hosts as they are found: what each tells of itself over ssh. Nothing is changed."""

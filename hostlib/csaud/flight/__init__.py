"""The flight recorder: what a rank called lately, kept, written, and put together from several ranks."""

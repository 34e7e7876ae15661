"""What a user and a launcher say: settings, ranks and the meeting point."""

"""What a job has left behind: books, checks, and the model of the report that they go into."""

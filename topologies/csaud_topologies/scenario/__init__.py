"""What is to be run: scenarios, what the user asked for, and the plan that both make."""

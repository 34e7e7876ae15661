"""What is found in a lab, held against its files."""

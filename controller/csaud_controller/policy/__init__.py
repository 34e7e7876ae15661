"""What users may ask for, and the table entries that each wish becomes."""

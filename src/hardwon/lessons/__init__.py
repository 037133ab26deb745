"""What runs teach: lessons with their evidence, and how far each is to be believed."""

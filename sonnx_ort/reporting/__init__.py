"""Reports and explanations, in text, HTML and standard formats."""

"""From every demand and definition of the specification documents to what meets it and shows it."""

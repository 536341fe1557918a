"""The analysis of a model: what the rules demand of its nodes, reports and waivers."""

"""Rules held against knowledge: obligations, reports and waivers."""

"""Certificates of proved obligations, and the program that checks them."""

"""Layered drawing of acyclic graphs, in the steps of Sugiyama, Tagawa and Toda.

Layers, order within the layers, coordinates. It is done when a report is written, so that a page
with thousands of nodes opens at once.
"""

"""A folder of results by digest: reports and rewritten models, for a caller that asks for it.

`folder` keeps contents, `keys` says what a result depends on, `values` writes the objects of
reports as text and reads them back, and `results` leads `check` and `rewrite` through the folder.
What is not known is computed: a value of an unknown class is neither part of a key nor kept.
"""

"""The operator domain of the enforced operators."""

DOMAIN = "sonnx"
"""The domain; `Div` in it is the enforced `Div`."""

DOMAIN_VERSION = 1
"""The version of the domain that a model imports."""

STANDARD_DOMAIN = ""
"""The domain of the standard operators, whose alias "ai.onnx" the loader resolves."""

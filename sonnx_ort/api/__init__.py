"""The public functions of models and files: `check`, `rewrite`, and those of files."""

"""The backend of the compiled kernels."""

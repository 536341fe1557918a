"""`python -m sonnx_ort` is the command `sonnx-ort`."""

from sonnx_ort.cli import main

if __name__ == "__main__":
    main()

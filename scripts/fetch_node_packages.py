"""Get ONNX Runtime for Node.js, which some tests need: `python3 scripts/fetch_node_packages.py`.

Ends with status 77 if there is no Node.js, or its package registry cannot be reached.
"""

import sys

from checks import SKIPPED
from node_packages import NodeUnavailable, PackagesNotInstalled, install


def main() -> int:
    """Install the packages, say what there is, and give the exit status."""
    try:
        install()
    except NodeUnavailable as error:
        print(error)
        return SKIPPED
    except PackagesNotInstalled as error:
        print(f"The packages for Node.js could not be installed:\n{error}")
        return 1
    print("ONNX Runtime for Node.js is ready.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

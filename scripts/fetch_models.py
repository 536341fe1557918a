"""Get the models that `scripts/test.py --models` tries: `python3 scripts/fetch_models.py`.

Ends with status 77 if the package registry cannot be reached.
"""

import sys

from checks import SKIPPED
from environment import ROOT
from real_models.packages import CACHE, PackagesNotFetched, RegistryUnreachable, fetch_models


def main() -> int:
    """Get the models, say what there is, and give the exit status."""
    try:
        models = fetch_models(ROOT / CACHE)
    except RegistryUnreachable as error:
        print(error)
        return SKIPPED
    except PackagesNotFetched as error:
        print(f"The packages with the models could not be downloaded:\n{error}")
        return 1
    packages = {name.partition("/")[0] for name in models}
    print(f"{len(models)} models of {', '.join(sorted(packages))} are in {CACHE}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

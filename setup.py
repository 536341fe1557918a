"""Puts the bill of materials beside the metadata (PEP 770), for which setuptools has no setting."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.egg_info import egg_info


class MetadataWithBill(egg_info):
    """Writes the metadata, all of which the wheel takes."""

    def run(self) -> None:
        """Write it, and copy the bill of materials beside it."""
        super().run()
        folder = Path(self.egg_info, "sboms")
        folder.mkdir(exist_ok=True)
        shutil.copy("sonnx_ort.cdx.json", folder)


setup(cmdclass={"egg_info": MetadataWithBill})

"""Compares names of Python packages."""

import re


def normal_package_name(package: str) -> str:
    """The name as package indexes compare it (PEP 503): `Flask_SQLAlchemy` is `flask-sqlalchemy`. Like
    `packaging.utils.canonicalize_name`, which takes longer to import than most commands need."""
    return re.sub(r"[-_.]+", "-", package).lower()

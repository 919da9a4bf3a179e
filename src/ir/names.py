"""When do two names mean the same package? As Python's package index decides it."""

from __future__ import annotations

import re

__all__ = ["package_name", "required_package"]

_SEPARATORS = re.compile(r"[-_.]+")
#: Where a requirement's name ends: at its extras, version, marker or address.
_NAME_END = re.compile(r"[\s\[(<>=!~;@,]")


def package_name(name: str) -> str:
    """The one way to write a package's name: in lower case, its parts joined by single hyphens.

    >>> package_name("Foo.Bar_baz"), package_name("foo--bar.baz")
    ('foo-bar-baz', 'foo-bar-baz')
    """
    return _SEPARATORS.sub("-", name.strip()).lower()


def required_package(requirement: str) -> str:
    """The name of the package that a requirement asks for, without extras, version, marker and address.

    >>> required_package("Foo.Bar_baz[fast]>=2; os_name == 'nt'"), required_package("dol @ https://host/dol.whl")
    ('foo-bar-baz', 'dol')
    """
    return package_name(_NAME_END.split(requirement.strip(), maxsplit=1)[0])

"""The functions and types of SQLAlchemy that statements are made of, imported on first use.

A module that imports them from here can be imported without SQLAlchemy (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import *


def __getattr__(name: str) -> Any:
    """Import a name of SQLAlchemy; it stays."""
    import sqlalchemy

    found = globals()[name] = getattr(sqlalchemy, name)
    return found

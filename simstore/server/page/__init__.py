"""The web interface of a served store, in the same design as the HTML report."""

from __future__ import annotations

from simstore.server.page.routes import router

__all__ = ["router"]

"""A client for ``simstore serve`` with the methods of a store.

from simstore.client import Client

with Client("http://127.0.0.1:8765") as store:
    store.add("https://example.org/a", "A text.", on_duplicate="skip")
    store.query("A text!")
"""

from simstore.client.client import Client

__all__ = ["Client"]

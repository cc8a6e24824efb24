"""Programs that are wrong, line by line; a type checker says so of each line that is marked."""

from __future__ import annotations

from simstore import Client, Store, dedupe


def wrong(store: Store, client: Client, held: Store | Client) -> None:
    store.query("text", radius="3")  # wrong
    store.query("text", radus=3)  # wrong
    store.query(b"text")  # wrong
    store.expire()  # wrong
    store.add("key")  # wrong
    store.add("key", "text", on_duplicate="drop")  # wrong
    store.export("a.jsonl", format="xlsx")  # wrong
    store.clusters.build(min_resemblance="high")  # wrong
    store.ingest(5)  # wrong
    store.querry("text")  # wrong
    client.querry("text")  # wrong
    client.query("text", radius="3")  # wrong
    held.query("text", limit="all")  # wrong
    held.clusters.listing()  # wrong
    client.add_many([("a", "b")], threads="many")  # wrong
    store.query("text", min_resemblance="high")  # wrong
    store.clusters[3]  # wrong
    store.list()[0]  # wrong
    dedupe("text", similarity=0.8)  # wrong


def wrong_protocol(names: list[str]) -> Store | Client:
    return names  # wrong

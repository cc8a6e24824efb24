"""Read the history of documents: sights, earlier versions, and which one is the original."""

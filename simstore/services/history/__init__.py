"""Read the history of documents: crawl visits, earlier versions, and which one is the original."""

"""History of documents: visits, versions, originals."""

"""What a store tells of its documents: their story, exports, filters, figures, expiry."""

"""The service layer: use cases and their transactions, one package for each subject."""

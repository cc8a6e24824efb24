"""Who may use a served store."""

"""The service, asked as a client asks it: every route, right and wrong."""

"""The service: a store over HTTP, for crawlers and for people (the extra ``server``)."""

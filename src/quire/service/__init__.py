"""The service: agents over HTTP, on one machine or many."""

"""Everything between a Request and a model's server."""

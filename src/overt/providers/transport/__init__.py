"""HTTP to the server of a model: connections, retries, proxies, and what went wrong in words."""

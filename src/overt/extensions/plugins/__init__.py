"""Plugin packages: their folders, marketplaces, and the lock that binds consent to content."""

"""Where programs are started and how they end."""

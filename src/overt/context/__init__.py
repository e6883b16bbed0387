"""What goes into a request, and the proof that it only grows."""

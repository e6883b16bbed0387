"""Find out what a server and a model can do, by asking them."""

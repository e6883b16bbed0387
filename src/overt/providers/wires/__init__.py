"""The wires: how requests are encoded and replies decoded, one module and its helpers per protocol."""

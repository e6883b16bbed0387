"""What models get wrong, put right before the gate."""

"""The chat: what a conversation shows above the composer, and what is done with what the user types and answers."""

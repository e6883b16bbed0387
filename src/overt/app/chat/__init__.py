"""What chats in a terminal need beside the conversation."""

"""One module per slash command. Every `Command` in a module of this folder is a command of the chat."""

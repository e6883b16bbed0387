"""One module per subcommand: `overt NAME` calls `run` of the module NAME with the words after it."""

"""What the file of a session tells: requests made again, contexts, exports, replays, figures."""

"""The terminal itself: its device, its keys, the loop that serves it, and rows of styled text on its screen."""

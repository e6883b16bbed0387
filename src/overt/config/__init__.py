"""Settings: files, flags and variables become one frozen Config."""

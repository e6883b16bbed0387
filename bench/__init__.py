"""The benchmark: the installed program against yardsticks that are measured in the same run."""

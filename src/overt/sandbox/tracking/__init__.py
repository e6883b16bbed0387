"""Record and refuse what commands do to files, by stopping their system calls."""

#!/bin/sh
# Print the unreleased entries of a changelog.
awk '/^## \[Unreleased\]/ {found = 1; next} /^## / {found = 0} found && NF' "${1:-CHANGELOG.md}"

"""`overt setup`: from nothing to a model that answers, in a few questions, and a configuration that says so.

Everything is asked line by line, through an `Asking` that any terminal can give. Nothing is written before the last
answer; a key goes into the keyring or nowhere, and never into a file, a message or an error.
"""

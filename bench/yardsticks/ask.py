"""The barest prompt of prompt_toolkit: what a key takes to its echo in the library that others build on."""

from prompt_toolkit import prompt

prompt("> ")

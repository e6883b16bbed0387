"""The configuration as the program reads it: with the names of the tools that rules may use."""

from functools import partial

from overt.config.load import load as load_configuration
from overt.tools.registry import BUILT_IN

load = partial(load_configuration, tool_names=lambda: BUILT_IN.rule_names)

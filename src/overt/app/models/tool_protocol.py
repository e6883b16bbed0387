"""Set up how one model calls tools: natively, by a schema, or in its text, and with help where it is small."""

from overt.app.context.prefix import Fragments
from overt.app.models.tool_calling import Conduct, FormLead, Ground, Manner
from overt.core.ports import Wire
from overt.core.requests import Prefix
from overt.core.tool import Tool


def conduct(manner: Manner, tools: dict[str, Tool], fragments: Fragments, *, wire: Wire, ground: Ground) -> Conduct:
    if manner.compact:
        from overt.app.small_model import scaffold as compact  # late: 6 ms

        return compact.conduct(manner, tools, fragments, wire=wire, ground=ground)
    limits = ground.limits
    specs = {name: tool.spec for name, tool in tools.items()}
    if manner.flatten:
        from overt.repair.flatten import flat  # late: 0.3 ms

        specs = {name: flat(spec) for name, spec in specs.items()}
    if manner.calls == "native":
        prefix = Prefix(system=fragments.usual(), tools=tuple(specs.values()))
        return Conduct(tools=tools, prefix=prefix, wire=wire, limits=limits)
    from overt.context.spoken import tool_guide  # late: 0.2 ms

    guide = tool_guide(specs.values(), manner.calls)
    from overt.context.spoken import SpokenWire  # late: 0.2 ms

    return Conduct(
        tools=tools,
        prefix=Prefix(system=(*fragments.usual(), guide), tools=()),
        wire=SpokenWire(wire, manner.calls),
        limits=limits,
        lead=FormLead(specs) if manner.calls == "schema" else None,
    )

"""Measure what each late import costs and write it beside the import: `python -m bench.late_imports [--write]`.

For each `import` inside a function of `src/overt`, a fresh interpreter loads the module around it and then times the
import. What costs less than 0.1 ms should stand at the top of the file, and is listed.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"
RUNS = 3
TIMED = """
import importlib, sys, time
importlib.import_module(sys.argv[1])
start = time.perf_counter()
for name in sys.argv[2:]:
    importlib.import_module(name)
print((time.perf_counter() - start) * 1000)
"""
MARK = re.compile(r"# late: [^#\n]*?(?=\s*#|$)")


def main(write: bool) -> None:
    costs: dict[tuple[str, tuple[str, ...]], float] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        lines = path.read_text().splitlines(keepends=True)
        around = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        for node in _inner_imports(path):
            names = _modules(node)
            if (around, names) not in costs:
                costs[around, names] = _cost(around, names)
            cost = costs[around, names]
            at = (node.end_lineno or node.lineno) - 1
            words = f"{cost:.0f} ms" if cost >= 1.5 else f"{cost:.1f} ms"
            if cost < 0.1:
                print(f"{path}:{node.lineno}: {', '.join(names)}: {words}")
            lines[at] = MARK.sub(f"# late: {words}", lines[at])
        if write:
            path.write_text("".join(lines))


def _inner_imports(path: Path) -> list[ast.Import | ast.ImportFrom]:
    tree = ast.parse(path.read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inner = {node for each in functions for node in ast.walk(each) if isinstance(node, ast.Import | ast.ImportFrom)}
    return sorted(inner, key=lambda node: node.lineno)


def _modules(node: ast.Import | ast.ImportFrom) -> tuple[str, ...]:
    if isinstance(node, ast.Import):
        return tuple(alias.name for alias in node.names)
    module = node.module or ""
    below = [f"{module}.{alias.name}" for alias in node.names]
    inside = [name for name in below if (SOURCE / Path(*name.split("."))).with_suffix(".py").exists()]
    return tuple(inside) or (module,)


def _cost(around: str, names: tuple[str, ...]) -> float:
    command = [sys.executable, "-c", TIMED, around, *names]
    return min(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(RUNS))


if __name__ == "__main__":
    main("--write" in sys.argv)

"""Data files of the package, read through its loader so that they work from a folder, a zip or one executable."""

import sys
from os.path import dirname, join


def read_bytes(package: str, name: str) -> bytes:
    """Read the file `name` beside the modules of `package`, which must be loaded."""
    spec = sys.modules[package].__spec__
    loader = spec.loader if spec else None
    if spec is None or spec.origin is None or loader is None or not hasattr(loader, "get_data"):
        raise FileNotFoundError(f"{package} has no place from which {name} could be read")
    data: bytes = loader.get_data(join(dirname(spec.origin), name))
    return data


def read_text(package: str, name: str) -> str:
    return read_bytes(package, name).decode()

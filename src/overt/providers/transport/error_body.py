"""What a server says in the body of an error."""

from msgspec import Struct


class Said(Struct, frozen=True, kw_only=True):
    """What an error body says, whatever its shape."""

    message: str = ""
    code: str = ""
    type: str = ""
    param: str = ""

    def words(self) -> str:
        return f"{self.code} {self.type} {self.message}".lower()

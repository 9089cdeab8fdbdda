"""The one error that OTG operations raise."""
from __future__ import annotations

from collections.abc import Sequence

BAD_REQUEST = 400
NOT_FOUND = 404
INTERNAL = 500
NOT_IMPLEMENTED = 501


class OtgError(Exception):
    """A request that was not carried out, in the shape of OTG's `Error` message.

    Args:
        errors: one sentence for each thing that is wrong, each naming the object by its path in the request.
        code: HTTP status (the gRPC front maps it).
        kind: OTG's `validation` (the request is at fault) or `internal` (the testbed is).
    """

    def __init__(self, errors: Sequence[str], code: int = BAD_REQUEST, kind: str = "validation") -> None:
        super().__init__("; ".join(errors))
        self.errors = tuple(errors)
        self.code = code
        self.kind = kind

    def body(self) -> dict[str, object]:
        """The `Error` message as JSON-ready data."""
        return {"code": self.code, "kind": self.kind, "errors": list(self.errors)}


def internal_error(sentence: str) -> OtgError:
    """An error of the testbed itself, not of the request."""
    return OtgError([sentence], INTERNAL, "internal")

"""Whether a call failed because this process had no file descriptor left: our trouble, not the provider's."""

from __future__ import annotations

import errno
import os
from typing import Final

from postroom.domain.errors import OutOfDescriptors

_OURS: Final = (errno.EMFILE, errno.ENFILE)


def out_of_descriptors(error: BaseException | None) -> OutOfDescriptors | None:
    """Libraries wrap what the system said, and a name that could not be looked up does not say why at all."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _OURS:
            return OutOfDescriptors()
        error = error.__cause__ or error.__context__
    return OutOfDescriptors() if _none_left() else None


def _none_left() -> bool:
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in _OURS
    return False

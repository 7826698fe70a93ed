"""How many examples the property tests try: few in every run, as many as TURNLEAF_SOAK asks for in a long one."""

import os


def examples(quick: int) -> int:
    """Return how many examples a property test tries."""
    return int(os.environ.get("TURNLEAF_SOAK") or quick)

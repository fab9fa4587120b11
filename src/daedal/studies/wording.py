"""Words for messages."""


def counted(count: int, noun: str) -> str:
    """Give a number with its noun, in the plural where it has to be: "1 run", "2,000 runs"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"

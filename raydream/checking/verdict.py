"""What the checks of a problem found, as one table."""

from dataclasses import dataclass

WORDS = {True: "ok", False: "FAILS", None: "not checked"}
CHECK, MARK = 22, 13  # widths of the first columns


@dataclass(frozen=True)
class Finding:
    """What one check found.

    check     its name
    ok        True; False where the law is broken; None where it could not be looked at
    text      one sentence
    agent, part, coordinate, measured, expected    where it is broken, and by which numbers, as far as that is known
    """

    check: str
    ok: bool | None
    text: str
    agent: int | None = None
    part: str | None = None
    coordinate: int | None = None
    measured: float | None = None
    expected: float | None = None

    def __str__(self) -> str:
        return f"{WORDS[self.ok]:<{MARK}}{self.check:<{CHECK}}{self.text}"


def unchecked(check: str, why: str) -> Finding:
    """A check that could not be made."""
    return Finding(check, None, why)


@dataclass(frozen=True)
class Verdict:
    """All findings of `rd.check`, in the order of the checks.

    ok  no law is broken; a check that could not be made is listed, and decides nothing
    """

    title: str
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing fails."""
        return not self.failures

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings that fail."""
        return tuple(one for one in self.findings if one.ok is False)

    def __str__(self) -> str:
        left = sum(one.ok is None for one in self.findings)
        done, failed = len(self.findings) - left, len(self.failures)
        close = f"{failed} of {done} checks fail." if failed else f"All {done} checks hold."
        if left:
            close += f" {left} could not be made."
        return "\n".join([self.title, "", *map(str, self.findings), "", close])

"""Numbers with their intervals, rounded so that the interval keeps two digits."""

import math
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

MOST_DIGITS = 6  # of a middle, however narrow its interval
ALONE = 4  # digits of a number without an interval
SMALLEST, LARGEST = -3, 5  # powers of ten that are written out


@dataclass(frozen=True)
class Rounded:
    """A number and its bounds as digits, all to be multiplied by ten to some power; "" for a bound that there is not.

    A bound that is not finite is "?" below and "∞" above.
    """

    middle: str
    low: str = ""
    high: str = ""
    power: int = 0

    @property
    def text(self) -> str:
        """As people read it on a screen: 0.331 (0.330 to 0.332)."""
        times = f"e{self.power:+03d}" if self.power else ""
        low, high = (end if end in ("?", "∞") else end + times for end in (self.low, self.high))
        return f"{self.middle}{times}" + (f" ({low} to {high})" if self.low else "")


def rounded(
    middle: float, low: float = math.nan, high: float = math.nan, *, whole: bool = False, digits: int = ALONE
) -> Rounded:
    """A number, and its bounds where it has any.

    whole   whether it is counted, so that it has no decimals unless it is very large
    digits  of a number without bounds
    """
    if not math.isfinite(middle):
        return Rounded("-")
    power = magnitude(middle)
    power = 0 if SMALLEST <= power <= LARGEST else power
    scaled = [shifted(one, power) for one in (middle, low, high)]
    spread = scaled[2] - scaled[1]
    known = math.isfinite(low) or math.isfinite(high)
    apart = known and not low == high == middle
    finest = digits - 1 - magnitude(scaled[0])
    if apart and math.isfinite(spread) and spread > 0:
        finest = max(1 - magnitude(spread), 1 - magnitude(scaled[0]))
    decimals = max(0, min(finest, MOST_DIGITS - 1 - magnitude(scaled[0])))
    if whole and not power:
        decimals = 0
    told = [fixed(one, decimals) if math.isfinite(one) else "" for one in scaled]
    if not apart:
        return Rounded(told[0], power=power)
    return Rounded(told[0], told[1] or "?", told[2] or "∞", power)


def magnitude(value: float) -> int:
    """The power of ten of the first digit; 0 for 0."""
    return Decimal(value).adjusted() if value else 0


def shifted(value: float, power: int) -> float:
    """The value divided by ten to some power, by an exact factor."""
    return value / 10.0**power if power >= 0 else value * 10.0**-power


def fixed(value: float, decimals: int) -> str:
    """So many decimals, a half rounded up, and commas between thousands."""
    exact = Decimal(value).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    return f"{exact:,f}" if exact else f"{abs(exact):,f}"

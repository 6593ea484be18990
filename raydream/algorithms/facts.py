"""What the table of methods says of a method; each method's class holds its own, as `facts`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Facts:
    """The facts about a method that its code does not show.

    setting     "offline" (finite sums), "online" (fresh samples), or both
    constraint  how y is kept in Y
    covered     whether the paper's theory covers a constraint on y, in a word or two
    arrays      arrays in one round's frames
    sfo, rounds           per agent and iteration, and per iteration
    total_sfo, total_rounds   up to ||grad P|| <= epsilon, of all agents, as the paper states them
    reference   authors, venue, year
    source      where the specification comes from: "paper", "public code", or "reconstruction, checked by laws"
    """

    setting: str
    constraint: str
    covered: str
    arrays: str
    sfo: str
    rounds: str
    total_sfo: str
    total_rounds: str
    reference: str
    source: str

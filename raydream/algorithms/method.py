"""What a method is, with the usual answers to what is asked of it; and a user's own method, completed by these.

A method needs `init` and `step` and nothing else: no base class, no registration. Those of this package derive from
`Method` to inherit the usual answers; `completed` gives them to any other object. This is the one place where a
method is searched for what it has.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

from raydream.agents import Agents
from raydream.algorithms.facts import Facts
from raydream.notebook import card
from raydream.parameters import check_parameters
from raydream.problems.protocol import Problem
from raydream.registry import Registry
from raydream.topology.mixing import Network, refused


class Mixing(NamedTuple):
    """What a method applies again and again to consensus errors."""

    rounds: int
    mixing: str = "gossip"
    momentum: str = "optimal"


class Method(Protocol):
    """A method, as everything outside `algorithms` sees it.

    A class that derives from it and is a dataclass has its parameters checked, by the rules that its fields declare
    (raydream.parameters), whenever one is made.
    """

    facts: ClassVar[Facts | None] = None

    def __post_init__(self) -> None:
        check_parameters(self)

    def init(self, agents: Agents) -> Any:
        """A program (or plain function) that returns the first state."""

    def step(self, state: Any, agents: Agents, t: int, coin: bool) -> Any:
        """A program (or plain function) that returns the state after iteration t."""

    def _repr_html_(self) -> str:
        facts = facts_of(self)
        about = {} if facts is None else {"reference": facts.reference, "SFO to ε": facts.total_sfo,
                                          "rounds to ε": facts.total_rounds}  # fmt: skip
        return card(kind_of(self).__name__, parameters_of(self) | about)

    @property
    def coin_probability(self) -> float | None:
        """The chance that the network's shared coin shows 1; None: there is no coin, and `coin` is False."""
        return None

    def settled(self, problem: Problem, network: Network) -> "Method":
        """Itself, with the parameters filled in that depend on the problem or the network."""
        return self

    def mixings(self) -> Sequence[Mixing]:
        """What it applies to consensus errors; one round of gossip unless it says otherwise."""
        return [Mixing(1)]

    def refuse(self, problem: Problem) -> str | None:
        """A sentence that says why it cannot solve this problem, or None."""
        return None

    def refuse_direction(self, balanced: bool) -> str | None:
        """A sentence that says why it cannot run where links have a direction, or None.

        balanced  whether W is doubly stochastic; else only its columns sum to 1
        """
        ways = [one.mixing for one in self.mixings()] or ["gossip"]
        return next((sentence for way in ways if (sentence := refused(way, True, balanced))), None)


@dataclass(frozen=True)
class OwnMethod(Method):
    """A user's method: what it has is asked of it, and the rest is answered as usual."""

    given: Any

    def __repr__(self) -> str:
        return repr(self.given)

    def init(self, agents: Agents) -> Any:
        return self.given.init(agents)

    def step(self, state: Any, agents: Agents, t: int, coin: bool) -> Any:
        return self.given.step(state, agents, t, coin)

    @property
    def coin_probability(self) -> float | None:
        found: float | None = getattr(self.given, "coin_probability", None)
        return found

    def settled(self, problem: Problem, network: Network) -> "Method":
        return OwnMethod(self.given.settled(problem, network)) if hasattr(self.given, "settled") else self

    def mixings(self) -> Sequence[Mixing]:
        return [Mixing(*one) for one in self.given.mixings()] if hasattr(self.given, "mixings") else []

    def refuse(self, problem: Problem) -> str | None:
        return self.given.refuse(problem) if hasattr(self.given, "refuse") else None

    def refuse_direction(self, balanced: bool) -> str | None:
        if hasattr(self.given, "refuse_direction"):
            found: str | None = self.given.refuse_direction(balanced)
            return found
        return super().refuse_direction(balanced)


def registered(things: Iterable[object]) -> Registry[type[Any]]:
    """The classes of methods among these things by the names that their own facts give them, in this order."""
    found: dict[str, type[Any]] = {}
    for kind in things:
        facts = vars(kind).get("facts") if isinstance(kind, type) else None
        if not isinstance(kind, type) or not isinstance(facts, Facts) or not facts.name:
            continue
        if found.setdefault(facts.name, kind) is not kind:
            raise ValueError(f"`name` must be a method's own; {found[facts.name]} and {kind} both say {facts.name!r}.")
    return Registry("method", found)


def completed(method: Any) -> Method:
    """The method itself if it is one of this package's, else with the usual answers where it has none."""
    if isinstance(method, type) and callable(getattr(method, "step", None)):
        raise TypeError(f"`method` must be a method with its parameters; got the class {method.__name__}.")
    if Method in type(method).__mro__:
        found: Method = method
        return found
    for part in ("init", "step"):
        if not callable(getattr(method, part, None)):
            raise TypeError(f"`method` must have `init` and `step`; {type(method).__name__} has no `{part}`.")
    return OwnMethod(method)


def kind_of(method: Any) -> type[Any]:
    """The class of a method, also of a completed one."""
    return type(method.given if isinstance(method, OwnMethod) else method)


def facts_of(kind: Any) -> Facts | None:
    """What a method, or a class of methods, says of itself; None where it says nothing."""
    if isinstance(kind, OwnMethod):
        kind = kind.given
    found = getattr(kind, "facts", None)
    return found if isinstance(found, Facts) else None


def parameters_of(method: Any) -> dict[str, Any]:
    """A method's parameters by name, where it says them."""
    own = method.given if isinstance(method, OwnMethod) else method
    return asdict(own) if is_dataclass(own) and not isinstance(own, type) else {}


def parameter_of(method: Any, name: str, usual: Any) -> Any:
    """One parameter of a method, or the usual value where it has none of that name."""
    return getattr(method.given if isinstance(method, OwnMethod) else method, name, usual)

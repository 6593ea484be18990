"""Words and numbers as LaTeX has them."""

import re
import unicodedata

from raydream.report.tables.rounding import Rounded

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\^{}", "~": r"\~{}", "<": r"\ensuremath{<}", ">": r"\ensuremath{>}", "|": r"\ensuremath{|}",
    '"': "''", "`": r"\`{}",
}  # fmt: skip
_MATHS = {
    "‖": r"\|", "∇": r"\nabla", "−": "-", "×": r"\times", "·": r"\cdot", "≤": r"\le", "≥": r"\ge", "≈": r"\approx",
    "∞": r"\infty", "√": r"\surd", "∈": r"\in", "→": r"\to", "′": "'", "ₘ": "_m",
    "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "δ": r"\delta", "ε": r"\epsilon", "η": r"\eta", "θ": r"\theta",
    "κ": r"\kappa", "λ": r"\lambda", "μ": r"\mu", "ν": r"\nu", "ρ": r"\rho", "σ": r"\sigma", "τ": r"\tau",
    "φ": r"\phi", "ψ": r"\psi", "ω": r"\omega", "Φ": r"\Phi", "Ψ": r"\Psi", "Σ": r"\Sigma", "Δ": r"\Delta",
}  # fmt: skip
_MATHS |= {sign: f"^{digit}" for digit, sign in zip("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻", strict=True)}
_MATHS |= {sign: f"_{digit}" for digit, sign in zip("0123456789", "₀₁₂₃₄₅₆₇₈₉", strict=True)}
_WORDS = {"’": "'", "‘": "`", "“": "``", "”": "''", "–": "--", "—": "---", "…": r"\ldots{}", "\u00a0": "~"}
_LETTERS = "ßæÆøØœŒłŁåÅ"
_ACCENTS = "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327"  # which every font of LaTeX has
_BAR = "\u0304"  # which stands behind its letter


def escaped(text: str) -> str:
    """Any text, so that LaTeX prints it and obeys nothing in it; a sign that it may not have is named by its number."""
    return "".join(_sign(one) for one in re.findall(rf".{_BAR}|.", unicodedata.normalize("NFC", text), re.DOTALL))


def _sign(one: str) -> str:
    if len(one) == 2:
        return rf"\ensuremath{{\bar{{{one[0]}}}}}" if one[0].isascii() and one[0].isalpha() else _sign(one[0])
    if one in _SPECIAL or one in _WORDS:
        return _SPECIAL.get(one) or _WORDS[one]
    if one in _MATHS:
        return rf"\ensuremath{{{_MATHS[one]}}}"
    if one.isspace():
        return " "
    parts = unicodedata.normalize("NFD", one)
    accented = len(parts) == 2 and parts[0].isascii() and parts[0].isalpha() and parts[1] in _ACCENTS
    return one if " " <= one <= "~" or one in _LETTERS or accented else f"[U+{ord(one):04X}]"


def comment(text: str) -> str:
    """Lines that LaTeX skips."""
    return "".join(f"% {line}".rstrip() + "\n" for line in printable(text).split("\n"))


def printable(text: str) -> str:
    """Text in which nothing but ends of lines is out of sight, so that no sign ends a comment."""
    return "".join(one if one == "\n" or one.isprintable() else " " for one in text)


def measured(number: Rounded, mark: str = "") -> str:
    """A number with its interval behind it in small print: the best bold, one that is not behind it with a dagger."""
    digits = number.middle.replace(",", "{,}")
    if digits == "-":
        return "--"
    shown = rf"\mathbf{{{digits}}}" if mark == "best" else digits + (r"^{\dagger}" if mark == "tied" else "")
    times = rf"\cdot10^{{{number.power}}}" if number.power else ""
    if not number.low:
        return f"${shown}{times}$"
    low, high = (end.replace(",", "{,}") for end in (number.low, number.high))
    ends = rf"[{low}, \infty)" if high == "∞" else f"[{low}, {high}]"
    return rf"${shown}$ {{\scriptsize${ends}$}}" + (f"${{}}{times}$" if times else "")

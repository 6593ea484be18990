"""The constants of the paper's main theorem (thm:main), each copied out as one line of arithmetic."""

from math import ceil, log, sqrt


def dream_parameters_by_hand(
    L: float,
    mu: float,
    epsilon: float,
    m: int,
    delta: float,
    psi0: float,
    n: int | None = None,
    sigma: float | None = None,
) -> dict[str, float]:
    """Every parameter of the theorem, offline (`n` given) or online (`sigma` given), and the expected counts.

    `sfo_paper` and `rounds_paper` are the paper's bookkeeping: b for a correction, only the tracker's rounds.
    `sfo` and `rounds` are what a run pays: 2b for a correction, and K rounds more per iteration for x and y.

    Differs from the paper: K0 is 0 where its logarithm is negative.
    """
    if (n is None) == (sigma is None):
        raise ValueError(f"exactly one of `n` and `sigma` must be given; got n={n!r}, sigma={sigma!r}.")
    c1, c2 = sqrt(14), 1 - 1 / sqrt(2)
    alpha = 1 / 8
    kappa = L / mu
    gamma = alpha / ((1 + alpha) * 128 * kappa**2)
    eta = 1 / (48 * L)
    b_large = n if sigma is None else ceil(32 * sigma**2 / (gamma * m * epsilon**2))
    assert b_large is not None
    b = ceil(sqrt(b_large / m))
    q = sqrt(b_large / m) / b
    p = b * q / (b * q + b_large)
    T = ceil(16 * psi0 / (gamma * eta * epsilon**2) + 2 / p)
    K0 = max(0, ceil(log(16 * c1 / (gamma * m * epsilon**2)) / (c2 * sqrt(delta))))
    K = ceil(5 * log(c1 * (m / b_large + 1)) / (c2 * sqrt(delta)))
    K_large = ceil(5 * log(c1 * m) / (c2 * sqrt(delta)))
    return {
        "alpha": alpha,
        "kappa": kappa,
        "gamma": gamma,
        "eta": eta,
        "b_large": b_large,
        "b": b,
        "q": q,
        "p": p,
        "T": T,
        "K0": K0,
        "K": K,
        "K_large": K_large,
        "sfo_paper": m * b_large + m * T * (p * b_large + (1 - p) * b * q),
        "rounds_paper": K0 + T * (p * K_large + (1 - p) * K),
        "sfo": m * b_large + m * T * (p * b_large + (1 - p) * 2 * b * q),
        "rounds": K0 + T * (K + p * K_large + (1 - p) * K),
    }

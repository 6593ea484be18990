"""Methods as programs over rows, one file each, readable beside its paper.

A method is a frozen dataclass of hyper-parameters with two generators, `init(agents)` and
`step(state, agents, t, coin)`. Arrays hold one row per agent hosted here, and

    WV = yield V          # one round: say the rows V, hear sum_j W_ij v_j for each row
    WZ, WS = yield Z, S   # one round that carries two arrays

is all the communication there is (an `init` or `step` that says nothing may be a plain function). A state is a
dataclass of such arrays that has `Z`, and `G` and `S` where the method has an estimator and a tracker.

What is heard belongs to the program, which may change it in place; what it was given, or has said, it leaves alone.

A method may also have

    coin_probability       the chance that the network's shared coin shows 1 (without it, `coin` is False)
    settled(problem, network)   itself, with the parameters filled in that depend on the problem or the network
    mixings()              what it applies again and again to consensus errors: (rounds, mixing, momentum)
    facts                  what the table of methods says of it (raydream.algorithms.table)
    refuse(problem)        a sentence that says why it cannot solve this problem, or None

Notation, the same in every file:

    symbol        in code      meaning                                            in the DREAM paper
    z = [x; y]    Z            iterates, one row per agent                        section 2
    g             G            gradient estimators                                Algorithm 2, lines 6, 16, 20
    s = [u; v]    S            gradient trackers                                  Algorithm 2, lines 8 and 23
    W             yield        mixing matrix                                      Assumption 2.5
    eta           eta          ascent step in y                                   Algorithm 2, line 12
    gamma         gamma        ratio of the descent step in x to eta              Algorithm 2, line 11
    zeta_t        coin         one coin for the whole network                     Algorithm 2, line 10
    p             p            its probability                                    Algorithm 2
    omega_t(i)    (private)    agent i takes part in a correction                 Algorithm 2, line 18
    q             q            its probability                                    Algorithm 2, line 18
    b, b'         b, b_large   small and large batch (None: the whole shard)      Algorithm 2
    b_0           b0           first batch of STORM                               (DM-HSGD)
    beta          beta         share of the old error that STORM forgets          (DM-HSGD)
    Q             Q            period of large batches                            (GT-SRVR, DGDA-VR)
    R             R            ascent steps per iteration                         (GT-DA)
    K_0, K, K'    K0, K, K_large   rounds at the start, per iteration, at coins   Algorithm 2
    m, n, N       m, n, N      agents, samples per agent, samples                 section 1
    delta         spectral_gap 1 - second eigenvalue of W                         Definition 2.3
"""

from typing import Any

from raydream.algorithms.dgda import DGDA
from raydream.algorithms.dgdavr import DGDAVR
from raydream.algorithms.dmhsgd import DMHSGD
from raydream.algorithms.dream import DREAM
from raydream.algorithms.gda import GDA, SGDA
from raydream.algorithms.gtda import GTDA
from raydream.algorithms.gtgda import GTGDA
from raydream.algorithms.gtsrvr import GTSRVR
from raydream.algorithms.state import Iterates, Tracked
from raydream.registry import Registry

METHODS: Registry[type[Any]] = Registry(
    "method",
    {
        "dream": DREAM,
        "gt-da": GTDA,
        "gt-gda": GTGDA,
        "gt-srvr": GTSRVR,
        "dm-hsgd": DMHSGD,
        "dgda-vr": DGDAVR,
        "gda": GDA,
        "sgda": SGDA,
        "dgda": DGDA,
    },
)

__all__ = [
    "DGDA",
    "DGDAVR",
    "DMHSGD",
    "DREAM",
    "GDA",
    "GTDA",
    "GTGDA",
    "GTSRVR",
    "METHODS",
    "SGDA",
    "Iterates",
    "Tracked",
]

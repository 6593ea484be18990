"""Methods as programs over rows, one file each, readable beside its paper.

A method is a frozen dataclass of hyper-parameters with two generators, `init(agents)` and
`step(state, agents, t, coin)`. Arrays hold one row per agent hosted here, and

    WV = yield V          # one round: say the rows V, hear sum_j W_ij v_j for each row
    WZ, WS = yield Z, S   # one round that carries two arrays

is all the communication there is (an `init` or `step` that says nothing may be a plain function). A state is a
dataclass of such arrays that has `Z`, and `G` and `S` where the method has an estimator and a tracker.

What is heard belongs to the program, which may change it in place; what it was given, or has said, it leaves alone.

What else can be asked of a method, and what is answered where it does not say, stands in raydream.algorithms.method;
what it says of itself (its name, its rates, where to search for its parameters, its colour) are its `facts`.

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
    beta          beta         share of the old error that STORM forgets          (DM-HSGD, DM-GDA, VRLM)
    Q             Q            period of large batches                            (GT-SRVR, DGDA-VR, VRLM, SREDA)
    R             R            ascent steps per iteration                         (GT-DA, D-GDMax, SREDA)
    K_0, K, K'    K0, K, K_large   rounds at the start, per iteration, at coins   Algorithm 2
    alpha         alpha        share of the way that iterates go                  (DM-GDA, K-GT-Minimax)
    l             L            multipliers of agreement on y                      (D-GDMax, VRLM)
    rho           rho          their step                                         (D-GDMax, VRLM)
    a, prox, T    A, prox, T   anchor of x, its pull, iterations until it moves   (Catalyst-DREAM, SAPD+)
    m, n, N       m, n, N      agents, samples per agent, samples                 section 1
    delta         spectral_gap 1 - second eigenvalue of W                         Definition 2.3
"""

from raydream.algorithms.method import Method as Method
from raydream.algorithms.method import registered
from raydream.algorithms.state import Iterates as Iterates
from raydream.algorithms.state import Tracked as Tracked

# The methods, in the order of the table: a line here is all that makes a method known.
# isort: off
from raydream.algorithms.dream import DREAM as DREAM
from raydream.algorithms.gtda import GTDA as GTDA
from raydream.algorithms.gtgda import GTGDA as GTGDA
from raydream.algorithms.gtsrvr import GTSRVR as GTSRVR
from raydream.algorithms.dmhsgd import DMHSGD as DMHSGD
from raydream.algorithms.dgdavr import DGDAVR as DGDAVR
from raydream.algorithms.gda import GDA as GDA
from raydream.algorithms.gda import SGDA as SGDA
from raydream.algorithms.dgda import DGDA as DGDA
from raydream.algorithms.further.catalyst import CatalystDREAM as CatalystDREAM
from raydream.algorithms.further.exact_diffusion import EDPAGE as EDPAGE
from raydream.algorithms.further.exact_diffusion import EDGDA as EDGDA
from raydream.algorithms.further.vrlm import VRLM as VRLM
from raydream.algorithms.further.dgdmax import DGDMax as DGDMax
from raydream.algorithms.further.dmgda import DMGDA as DMGDA
from raydream.algorithms.further.kgt import KGTMinimax as KGTMinimax
from raydream.algorithms.further.dadast import DAdaST as DAdaST
from raydream.algorithms.further.dadast import DTiAda as DTiAda
from raydream.algorithms.further.dposg import DPOSG as DPOSG
from raydream.algorithms.further.sreda import SREDA as SREDA
from raydream.algorithms.further.sapd import SAPDPlus as SAPDPlus
# isort: on

METHODS = registered([*globals().values()])

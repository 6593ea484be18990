"""Problems: min over x, max over y in Y, of the mean of the agents' functions.

A problem is any object with the parts of `Problem`, and what agent i owns is any object with the parts of
`LocalProblem`: no base class, no registration. Only `agents`, `dim_x`, `dim_y` and `local` are required of your
own problem; `complete` supplies the rest from them.
"""

from raydream.problems.completed import Completed, complete
from raydream.problems.protocol import Constants, Danskin, LocalProblem, Problem
from raydream.problems.quadratic import QuadraticGame
from raydream.problems.quadratic_online import OnlineQuadraticGame
from raydream.problems.registry import PROBLEMS
from raydream.problems.robust_logistic import RobustLogisticRegression

__all__ = [
    "PROBLEMS",
    "Completed",
    "Constants",
    "Danskin",
    "LocalProblem",
    "OnlineQuadraticGame",
    "Problem",
    "QuadraticGame",
    "RobustLogisticRegression",
    "complete",
]

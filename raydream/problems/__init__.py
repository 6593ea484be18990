"""Problems: min over x, max over y in Y, of the mean of the agents' functions.

A problem is any object with the parts of `Problem`, and what agent i owns is any object with the parts of
`LocalProblem`: no base class, no registration. Only `agents`, `dim_x`, `dim_y` and `local` are required of your
own problem; `complete` supplies the rest from them, and `rd.check` says whether a problem keeps the laws of one.
`FromFunctions`, `from_torch` and `from_jax` make one from functions of rows and the rows of every agent.
"""

from raydream.problems.completed import Completed, complete
from raydream.problems.games.pl_game import PLGame
from raydream.problems.games.policy_evaluation import PolicyEvaluation
from raydream.problems.games.wgan import WGAN
from raydream.problems.learning.adversarial_training import AdversarialTraining
from raydream.problems.learning.auc import AUC
from raydream.problems.learning.fair_classification import FairClassification
from raydream.problems.learning.group_dro import GroupDRO
from raydream.problems.learning.robust_least_squares import RobustLeastSquares
from raydream.problems.learning.robust_nonconvex_regression import RobustNonconvexRegression
from raydream.problems.learning.robust_regression import RobustRegression
from raydream.problems.own.functions import FromFunctions
from raydream.problems.own.with_jax import from_jax
from raydream.problems.own.with_torch import from_torch
from raydream.problems.protocol import Constants, Danskin, LocalProblem, Problem
from raydream.problems.quadratic import QuadraticGame
from raydream.problems.quadratic_online import OnlineQuadraticGame
from raydream.problems.registry import PROBLEMS
from raydream.problems.robust_logistic import RobustLogisticRegression

__all__ = [
    "AUC",
    "PROBLEMS",
    "WGAN",
    "AdversarialTraining",
    "Completed",
    "Constants",
    "Danskin",
    "FairClassification",
    "FromFunctions",
    "GroupDRO",
    "LocalProblem",
    "OnlineQuadraticGame",
    "PLGame",
    "PolicyEvaluation",
    "Problem",
    "QuadraticGame",
    "RobustLeastSquares",
    "RobustLogisticRegression",
    "RobustNonconvexRegression",
    "RobustRegression",
    "complete",
    "from_jax",
    "from_torch",
]

"""All problems of the package, and what helps to write one: what `raydream.problems` shows."""

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

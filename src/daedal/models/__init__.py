"""Models of what good solutions have in common: each fits rows of bits and samples new ones."""

from daedal.models.base import Fitted, Model
from daedal.models.bayesnet import BayesNet
from daedal.models.dae import DAE
from daedal.models.ecga import ECGA
from daedal.models.pbil import PBIL
from daedal.models.rbm import RBM
from daedal.models.tree import Tree
from daedal.models.umda import UMDA

__all__ = ["DAE", "ECGA", "PBIL", "RBM", "UMDA", "BayesNet", "Fitted", "Model", "Tree"]

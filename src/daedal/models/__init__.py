"""Models of what good solutions have in common: each fits rows of bits and samples new ones."""

from daedal.models.base import Fitted, Model
from daedal.models.dae import DAE
from daedal.models.pbil import PBIL
from daedal.models.umda import UMDA

__all__ = ["DAE", "PBIL", "UMDA", "Fitted", "Model"]

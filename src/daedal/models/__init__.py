"""Models of what good solutions have in common: each fits rows of bits and samples new ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daedal.settings.lazy import lazy_names

if TYPE_CHECKING:
    from daedal.models.base import Fitted as Fitted
    from daedal.models.base import Model as Model
    from daedal.models.bayesnet import BayesNet as BayesNet
    from daedal.models.dae import DAE as DAE
    from daedal.models.ecga import ECGA as ECGA
    from daedal.models.pbil import PBIL as PBIL
    from daedal.models.rbm import RBM as RBM
    from daedal.models.tree import Tree as Tree
    from daedal.models.umda import UMDA as UMDA
else:
    _HOMES = {
        "Fitted": "daedal.models.base",
        "Model": "daedal.models.base",
        "BayesNet": "daedal.models.bayesnet",
        "DAE": "daedal.models.dae",
        "ECGA": "daedal.models.ecga",
        "PBIL": "daedal.models.pbil",
        "RBM": "daedal.models.rbm",
        "Tree": "daedal.models.tree",
        "UMDA": "daedal.models.umda",
    }
    __all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)

from daedal.kernels import bayesnet as bayesnet
from daedal.kernels import chains as chains
from daedal.kernels import clamped as clamped
from daedal.kernels import combinatorial as combinatorial
<<<<<<< HEAD
from daedal.kernels import constrained as constrained
=======
from daedal.kernels import compilation as compilation
>>>>>>> 2e2c3ed (Delete the former regressions and their kernels; prove the surrogates by tests)
from daedal.kernels import counting as counting
from daedal.kernels import dae as dae
from daedal.kernels import descent as descent
from daedal.kernels import ecga as ecga
from daedal.kernels import field_kinds as field_kinds
from daedal.kernels import landscapes as landscapes
from daedal.kernels import logistic as logistic
from daedal.kernels import network as network
from daedal.kernels import noise as noise
from daedal.kernels import products as products
from daedal.kernels import rbm as rbm
from daedal.kernels import repair as repair
from daedal.kernels import replacement as replacement
from daedal.kernels import tiles as tiles
from daedal.kernels import tree as tree

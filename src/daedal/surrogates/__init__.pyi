from daedal.surrogates.walsh import Walsh as Walsh
from daedal.surrogates.walsh_function import Interaction as Interaction
from daedal.surrogates.walsh_function import WalshFunction as WalshFunction

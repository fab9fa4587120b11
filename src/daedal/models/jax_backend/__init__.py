"""The autoencoder in JAX: a whole fit, or a whole draw of samples, is one compiled program on one device.

Nothing here loads JAX before it is used.
"""

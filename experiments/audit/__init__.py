"""An audit of somebody else's model: where its state is, what it holds, whether it can be cut.

Nothing is believed that can be tried: names, signatures and documentation only say where to
look first. torch and transformers are imported only for subjects that need them.
"""

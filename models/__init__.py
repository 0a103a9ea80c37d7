"""Sequence models: cells and their states; nothing here knows of Alice.

One file, one family: the stem is the name on the command line. Modules that start
with an underscore are what the families share.
"""

from statebound.models._cell import Cell, Config, Field
from statebound.models._vocabulary import Vocabulary

__all__ = ["Cell", "Config", "Field", "Vocabulary"]

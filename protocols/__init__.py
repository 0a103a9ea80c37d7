"""Problems, messages, protocols and limits; nothing here knows of a hidden state."""

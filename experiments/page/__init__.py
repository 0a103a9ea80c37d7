"""The page for lectures: every trace computed here, then replayed without any server."""

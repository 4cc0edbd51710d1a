"""Other frameworks' names over this engine: a bridge renames and adapts, and adds no capability."""

"""Other frameworks' names over this engine; a bridge renames and adapts, and can do nothing by itself."""

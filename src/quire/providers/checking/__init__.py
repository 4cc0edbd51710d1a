"""The former place of `quire.providers.check`; installations made before the move still name its plugin."""

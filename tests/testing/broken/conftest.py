"""What fails is reported as it was drawn: making it smaller takes long, and is hypothesis' own affair."""

from hypothesis import Phase, settings

settings.register_profile("broken", phases=[Phase.generate], database=None, derandomize=True, max_examples=50)
settings.load_profile("broken")

"""The number of examples for each law."""

from hypothesis import HealthCheck, settings

# Laws are inherited, and their examples are large on purpose.
_NO_FAULTS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.differing_executors]


def examples(share: int = 1, least: int = 5) -> settings:
    """The settings of a law: the number of the profile's examples divided by `share`, and no deadline."""
    return settings(
        max_examples=max(least, settings().max_examples // share),
        deadline=None,
        suppress_health_check=_NO_FAULTS,
    )

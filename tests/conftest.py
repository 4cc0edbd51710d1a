"""Hypothesis without deadlines (machines are shared and noisy), its strength set by QUIRE_EXAMPLES.

It keeps no database: a checkout may be read-only, and a failure prints what reproduces it. Where its strength
is not set it draws the same each time, so that who changed nothing breaks nothing; `make fuzz` draws anew.
"""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "quire",
    deadline=None,
    database=None,
    derandomize="QUIRE_EXAMPLES" not in os.environ,
    max_examples=int(os.environ.get("QUIRE_EXAMPLES", "45")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    print_blob=True,
)
settings.load_profile("quire")

"""The budget: the laws of sharing out."""

from hypothesis import given, strategies as st

from quire.tokens import Budget, Share, share_out

NAMES = ["system", "history", "notes", "recall", "input"]


@st.composite
def budgets(draw: st.DrawFn) -> Budget:
    window = draw(st.integers(10, 200_000))
    reserve = draw(st.integers(0, window // 2))
    left, shares = window - reserve, dict[str, Share]()
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True)):
        minimum = draw(st.integers(0, left // 3))
        left -= minimum
        maximum = draw(st.none() | st.integers(minimum, window))
        shares[name] = Share(minimum=minimum, maximum=maximum, weight=draw(st.integers(0, 9)))
    return Budget(window=window, reserve=reserve, shares=shares)


REQUESTS = st.dictionaries(st.sampled_from([*NAMES, "other"]), st.integers(0, 300_000))


@given(budgets(), REQUESTS)
def test_nobody_gets_too_much_or_less_than_a_minimum_and_nothing_is_left_over(
    budget: Budget, requests: dict[str, int]
) -> None:
    granted = share_out(budget.available, requests, budget.shares)
    left = budget.available - sum(granted.values())
    assert list(granted) == list(requests) and left >= 0
    for name, tokens in granted.items():
        share = budget.shares.get(name, Share())
        most = min(requests[name], budget.available if share.maximum is None else share.maximum)
        assert min(requests[name], share.minimum) <= tokens <= most
        assert left == 0 or tokens == most or share.weight == 0


@given(st.integers(1, 10**7), st.lists(st.integers(1, 50), min_size=1, max_size=6))
def test_by_weight_to_the_last_token(window: int, weights: list[int]) -> None:
    shares = {str(place): Share(weight=weight) for place, weight in enumerate(weights)}
    granted = share_out(window, dict.fromkeys(shares, window), shares)
    assert sum(granted.values()) == window
    for place, weight in enumerate(weights):
        assert abs(granted[str(place)] - window * weight / sum(weights)) < 1


def test_minimums_go_first_and_in_order_then_weights_share_what_others_do_not_need() -> None:
    shares = {"history": Share(minimum=200, weight=3), "notes": Share(maximum=150), "recall": Share()}
    asked = {"history": 10_000, "notes": 10_000, "recall": 20}
    assert Budget(window=1_000, reserve=100).available == 900
    assert share_out(900, asked, shares) == {"history": 730, "notes": 150, "recall": 20}
    assert share_out(100, {"a": 100}, {"a": Share(minimum=10, weight=0)}) == {"a": 10}
    narrow = {name: Share(minimum=6) for name in "abc"}
    assert share_out(10, dict.fromkeys("abc", 9), narrow) == {"a": 6, "b": 4, "c": 0}
    assert share_out(0, dict.fromkeys("abc", 9), narrow) == {"a": 0, "b": 0, "c": 0}

"""Quire inside other frameworks: each module is for one framework, and imports it.

In all of them the conversation's log keeps everything, the framework is given a view that fits the model's
window, and every request has a receipt. `quire.integrations.mirror` is what they share.
`quire.integrations.logs` reads the logs of other programs, and needs none of them.
"""

CORPORA = ()


def compute(category, given): ...

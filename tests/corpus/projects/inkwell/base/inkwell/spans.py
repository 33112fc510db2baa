def merge(spans):
    return sorted(spans)


def length(spans):
    return sum(end - start for start, end in merge(spans))

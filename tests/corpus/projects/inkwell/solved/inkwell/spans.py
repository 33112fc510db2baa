def merge(spans):
    merged = []
    for start, end in sorted(spans):
        if start > end:
            raise ValueError(f"{start} is after {end}")
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


def length(spans):
    return sum(end - start for start, end in merge(spans))

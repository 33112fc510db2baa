import asyncio


async def ready():
    return True


async def doubled(numbers):
    await asyncio.sleep(0)
    return [number * 2 for number in numbers]


async def refused(text):
    await asyncio.sleep(0)
    raise LookupError(text)


def totals(rows):
    rows.append("seen")
    return len(rows)

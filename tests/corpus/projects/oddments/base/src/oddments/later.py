async def ready():
    return True

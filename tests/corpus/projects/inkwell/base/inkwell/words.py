def shout(text):
    return text.upper() + "!"


def count(text):
    return len(text.split())

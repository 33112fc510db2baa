import re


def shout(text):
    return text.upper() + "!"


def count(text):
    return len(text.split())


def initials(name):
    return "".join(part[0].upper() + "." for part in re.split(r"[\s-]+", name) if part)

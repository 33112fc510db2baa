import argparse
import collections
import json
import pathlib
import sys


def positive(text):
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def words(text, top):
    counted = collections.Counter(text.lower().split())
    ranked = sorted(counted.items(), key=lambda one: (-one[1], one[0]))
    for word, times in ranked[:top]:
        print(word, times)


def add(book, name, number):
    place = pathlib.Path(book)
    entries = json.loads(place.read_text()) if place.exists() else {}
    entries[name] = entries.get(name, 0) + number
    place.write_text(json.dumps(entries, sort_keys=True))
    print(name, entries[name])


def main(argv):
    parser = argparse.ArgumentParser(prog="tally")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("lines")
    ranking = commands.add_parser("words")
    ranking.add_argument("--top", type=positive, default=None)
    adding = commands.add_parser("add")
    adding.add_argument("book")
    adding.add_argument("name")
    adding.add_argument("number", type=int)
    given = parser.parse_args(argv)
    if given.command == "lines":
        print(len(sys.stdin.read().splitlines()))
    elif given.command == "words":
        words(sys.stdin.read(), given.top)
    else:
        add(given.book, given.name, given.number)
    return 0

import argparse
import sys


def main(argv):
    parser = argparse.ArgumentParser(prog="tally")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("lines")
    given = parser.parse_args(argv)
    if given.command == "lines":
        print(len(sys.stdin.read().splitlines()))
    return 0

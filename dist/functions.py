"""Names of functions that are the same in each build of the program."""

import hashlib
import pathlib
import re
import subprocess

NAMES = pathlib.Path(__file__).with_name("hot_functions.txt")
# What differs from build to build: the hash of a crate, and of a function of an old name.
HASH = re.compile(r"\[[0-9a-f]{12,16}\]|::h[0-9a-f]{16}$|\.llvm\.\d+$")
# Longer names, of generic functions, end with a digest.
LONGEST = 110


def stable_names(symbols):
    """The name of each symbol."""
    given = "\n".join(re.sub(r"\.llvm\.\d+$", "", symbol) for symbol in symbols)
    shown = subprocess.run(["c++filt", "-s", "rust"], input=given, stdout=subprocess.PIPE, text=True, check=True)
    return dict(zip(symbols, map(shorten, shown.stdout.splitlines()), strict=True))


def shorten(name):
    name = HASH.sub("", name)
    if len(name) <= LONGEST:
        return name
    return f"{name[:LONGEST]}… {hashlib.sha256(name.encode()).hexdigest()[:12]}"

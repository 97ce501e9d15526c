#!/usr/bin/env python3
"""Prints the section of CHANGELOG.md about a version, for the page of its release: changes.py VERSION [CHANGELOG]"""

import re
import sys
from pathlib import Path

version = re.escape(sys.argv[1].removeprefix("v"))
# `## 0.1.0`, `## v0.1.0` and `## [0.1.0] - 2026-11-19`.
heading = re.compile(rf"\[?v?{version}\]?(\s|$)")
path = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).resolve().parents[1] / "CHANGELOG.md"
sections = path.read_text().split("\n## ")[1:]
for section in sections:
    title, _, text = section.partition("\n")
    if heading.match(title):
        print(text.strip())
        break
else:
    sys.exit(f"error: CHANGELOG.md has no section `## {sys.argv[1].removeprefix('v')}`; name the one under Unreleased so")

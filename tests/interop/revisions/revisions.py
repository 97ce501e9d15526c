"""Every kind of content in every protocol version, as the official SDKs of its time read it.

An SDK refuses a whole result because of one kind of content that its version does not have. Usage: revisions.py TWIG
FOLDER, where FOLDER holds an environment `python-VERSION` for each Python SDK and `typescript` for the others.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
FILES = {
    "all/twig.toml": b"""
[[prompts.mixed.messages]]
text = "A text"
[[prompts.mixed.messages]]
image = "dot.png"
[[prompts.mixed.messages]]
audio = "beep.mp3"
[[prompts.mixed.messages]]
resource = "twig://all/guide"
[[prompts.mixed.messages]]
resource_link = "twig://all/guide"
""",
    "all/docs/guide.md": b"A guide.\n",
    "all/dot.png": b"\x89PNG\r\n\x1a\n\0\xff",
    "all/beep.mp3": b"ID3",
    "skills/tides/SKILL.md": b"---\nname: tides\ndescription: Read a tide table.\n---\nRead table.md first.\n",
    "skills/tides/table.md": b"High at six.\n",
}
# What takes the place of audio and links in versions that have none is text.
BEFORE_AUDIO = ["text", "image", "text", "resource", "text"]
BEFORE_LINKS = ["text", "image", "audio", "resource", "text"]
SDKS = {
    ("python", "1.0.0"): ("2024-11-05", BEFORE_AUDIO),
    ("python", "1.3.0"): ("2024-11-05", BEFORE_AUDIO),
    ("python", "1.8.0"): ("2024-11-05", BEFORE_AUDIO),
    ("python", "1.9.4"): ("2025-03-26", BEFORE_LINKS),
    ("typescript", "1.0.4"): ("2024-11-05", BEFORE_AUDIO),
    ("typescript", "1.7.0"): ("2024-11-05", BEFORE_AUDIO),
}


def visited(sdk, version, twig, folder, home):
    names = ["all:mixed", "skills:tides"]
    if sdk == "python":
        command = [folder / f"python-{version}/bin/python", HERE / "visit.py", twig, *names]
    else:
        command = ["node", folder / "typescript/visit.mjs", version, twig, *names]
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "TWIG_DATA_DIR": str(home / "prompts")}
    done = subprocess.run(
        [str(word) for word in command], cwd=home, env=environment, capture_output=True, timeout=60, check=False
    )
    if done.returncode:
        raise AssertionError(done.stderr.decode()[-2000:])
    return json.loads(done.stdout)


def check(sdk, version, twig, folder):
    expected_version, mixed = SDKS[sdk, version]
    with tempfile.TemporaryDirectory() as home:
        for name, content in FILES.items():
            path = Path(home) / "prompts" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        seen = visited(sdk, version, twig, folder, Path(home))
    assert seen["version"] == expected_version, seen
    assert seen["all:mixed"] == mixed, seen
    # A skill names its files in its text.
    assert seen["skills:tides"] == ["text"], seen
    assert seen["skills:tides by use_prompt"] == ["text"], seen
    for name, kinds in seen.items():
        known = {"text", "image", "resource"} | ({"audio"} if expected_version >= "2025-03-26" else set())
        assert name == "version" or (kinds and set(kinds) <= known), (name, kinds)


def main(twig, folder):
    failed = False
    for sdk, version in SDKS:
        try:
            check(sdk, version, twig, Path(folder))
            print(f"{sdk} {version}: every kind of content is read")
        except (AssertionError, OSError, ValueError, subprocess.TimeoutExpired) as error:
            failed = True
            print(f"{sdk} {version}: {error}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))

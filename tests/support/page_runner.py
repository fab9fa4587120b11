"""Run the blocks of one page in this process, in this folder, one after the other, and say what each has printed.

It is given to `python -c`, so that the page's functions belong to a main module that is no file, as at a prompt.
Standard input has the blocks as JSON, standard output gets a list of what they printed, up to the first that fails.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
import traceback


def run(block, namespace):
    if block["language"] == "sh":
        command = ["bash", "-euo", "pipefail", "-c", block["text"]]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True
        )
        return done.stdout, done.returncode == 0
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(block["text"], f"<line {block['line']}>", "exec"), namespace)
        except BaseException:  # noqa: BLE001  whatever it is, it is the answer
            return printed.getvalue() + traceback.format_exc(), False
    return printed.getvalue(), True


def main():
    blocks, out = json.load(sys.stdin), os.dup(1)
    os.dup2(2, 1)  # whatever else is printed is not the answer
    namespace = vars(sys.modules["__main__"])
    answers = []
    for block in blocks:
        if block["is_run"]:
            answers.append(run(block, namespace))
            if not answers[-1][1]:
                break
        elif block["title"]:
            os.makedirs(os.path.dirname(block["title"]) or ".", exist_ok=True)
            with open(block["title"], "w") as file:
                file.write(block["text"])
    os.write(out, json.dumps(answers).encode())


main()

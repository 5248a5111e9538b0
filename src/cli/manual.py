"""The manual page and the shell completion, made of what `refrain --help` says, so that they cannot disagree with it.
manual.py REFRAIN FOLDER"""
import pathlib
import re
import subprocess
import sys


def help_of(refrain, *command):
    return subprocess.run([refrain, *command, "--help"], capture_output=True, text=True, check=True).stdout


def escape(text):
    out = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in out.splitlines())


def manual_page(version, pages):
    general, commands = pages[""], {name: text for name, text in pages.items() if name}
    first = general.splitlines()[0]
    lines = [f'.TH REFRAIN 1 "" "{version}" "User Commands"', ".SH NAME", "refrain \\- run CUDA programs in less device memory than they need",
             ".SH SYNOPSIS", ".B refrain", "COMMAND [OPTIONS] ...", ".SH DESCRIPTION", escape(first)]
    for name, text in commands.items():
        lines += [f".SH REFRAIN {name.upper()}", ".nf", escape(text.strip()), ".fi"]
    lines += [".SH SEE ALSO", "The documentation in /usr/share/doc/refrain/docs: options.md, limits.md, log\\-format.md."]
    return "\n".join(lines) + "\n"


def completion(pages):
    flags = {name: sorted(set(re.findall(r"(?<![\w-])(--[a-z][a-z-]*)", text))) for name, text in pages.items() if name}
    cases = "\n".join(f'    {name}) words="{" ".join(found)}" ;;' for name, found in flags.items())
    return f"""# bash completion for refrain
_refrain() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words=""
  case ${{COMP_WORDS[1]}} in
{cases}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="{" ".join(flags)} --help --version"; fi
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ] || [ "${{word#-}}" != "$word" ]; then mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word"); fi
  [ ${{#COMPREPLY[@]}} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "$word")
}}
complete -o filenames -F _refrain refrain
"""


def main():
    refrain, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    version = subprocess.run([refrain, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    general = help_of(refrain)
    names = re.findall(r"^  ([a-z]+) {2,}", general.split("ubcommands:")[-1] if "ubcommands:" in general else general.split("SUBCOMMANDS:")[-1], re.M)
    pages = {"": general, **{name: help_of(refrain, name) for name in names}}
    if not names:
        sys.exit("no commands were found in refrain --help")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "refrain.1").write_text(manual_page(version, pages))
    (folder / "refrain.bash").write_text(completion(pages))


main()

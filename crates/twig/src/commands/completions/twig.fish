# Completion of twig for fish; made by `twig completions fish`.
complete --command twig --no-files --keep-order --arguments '(command twig complete -- (commandline --tokenize --current-process --cut-at-cursor) (commandline --current-token --cut-at-cursor) 2>/dev/null)'

# Completion of twig for elvish; made by `twig completions elvish`.
use str
set edit:completion:arg-completer[twig] = {|@words|
    twig complete -- $@words 2>/dev/null | each {|line|
        put (str:split "\t" $line | take 1)
    }
}

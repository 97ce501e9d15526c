#compdef twig
# Completion of twig for zsh; made by `twig completions zsh`.
_twig() {
    local line value
    local -a values shown open open_shown
    for line in "${(@f)$(command twig complete -- "${(@Q)words[1,CURRENT]}" 2>/dev/null)}"; do
        [[ -n $line ]] || continue
        value=${line%%$'\t'*}
        line=${line/$'\t'/  }
        if [[ $value == *[/:=] ]]; then
            open+=("$value") open_shown+=("$line")
        else
            values+=("$value") shown+=("$line")
        fi
    done
    (( $#values )) && compadd -l -d shown -a values
    (( $#open )) && compadd -S '' -l -d open_shown -a open
    (( $#values + $#open ))
}
if [[ $funcstack[1] == _twig ]]; then
    _twig "$@"
else
    compdef _twig twig
fi

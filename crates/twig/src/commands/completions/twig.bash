# Completion of twig for bash; made by `twig completions bash`.
_twig() {
    local word value glued='' cur prefix='' words=()
    local -i i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        # Bash splits words at `:` and `=`: join them again.
        if ((i > 0)) && [[ -n $glued || $word == [:=]* ]]; then
            words[${#words[@]}-1]+=$word
        else
            words+=("$word")
        fi
        glued=''
        [[ $word == *[:=] ]] && glued=1
    done
    cur=${words[${#words[@]}-1]}
    # It replaces only what follows the last of them.
    [[ $cur == *[:=]* ]] && prefix=${cur%"${cur##*[:=]}"}
    COMPREPLY=()
    while IFS=$'\t' read -r value _; do
        value=${value#"$prefix"}
        [[ $value == *[^[:alnum:]_./:=@~+,%-]* ]] && printf -v value '%q' "$value"
        COMPREPLY+=("$value")
    done < <(command twig complete -- "${words[@]}" 2>/dev/null)
    if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *[/:=] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -F _twig twig

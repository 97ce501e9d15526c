# Completion of twig for PowerShell; made by `twig completions powershell`.
Register-ArgumentCompleter -Native -CommandName twig -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements |
        Where-Object { $_.Extent.StartOffset -lt $cursorPosition } |
        ForEach-Object { if ($_.PSObject.Properties['Value']) { "$($_.Value)" } else { $_.Extent.Text } })
    # An empty word would be lost on the way to the program.
    $flags = @()
    if ($wordToComplete -eq '') { $flags = @('--next') }
    & twig complete @flags '--' @words 2>$null | ForEach-Object {
        $value, $about = $_ -split "`t", 2
        if (-not $about) { $about = $value }
        $text = $value
        if ($value -match '[\s''"`$;&|<>(){}@#,]') { $text = "'" + $value.Replace("'", "''") + "'" }
        [System.Management.Automation.CompletionResult]::new($text, $value, 'ParameterValue', $about)
    }
}

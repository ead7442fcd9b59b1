# A shell: once, and from then on Claude Code asks and reports by itself.
memlift-coding install claude-code --namespace "$MEMLIFT_NAMESPACE"

"""An agent asks; context, search, ranking, selection, guideline, receipt."""

"""The main job on real input: forecast, wait, learn, forecast again; and what memory did for it."""

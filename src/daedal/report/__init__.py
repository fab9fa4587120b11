"""Pages that show a run or a study: one HTML file with everything in it, or the same page served while things go on."""

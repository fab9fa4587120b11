"""Reports of a run or a study: one HTML file with everything in it, or the same page served during the run."""

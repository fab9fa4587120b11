"""Pictures of runs and studies, with Matplotlib; each function gives the Axes that it has drawn on."""

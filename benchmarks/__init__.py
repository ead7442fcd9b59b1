"""What is measured, over HTTP, with raw artefacts kept."""
